import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundleProgram, eventually } from "@mooring/store/testing";
import type { Turns } from "../../../packages/standalone/src/apiserver/testing/turn-meter.ts";
import { Up } from "../../support/up.ts";

const BUNDLE = fileURLToPath(new URL("../../../dist/mooring.mjs", import.meta.url));

/** The threads that others wait for: of the store, leases, agent and kubelet, and of the API server. */
const THREADS = ["main", "server"] as const;
type Thread = (typeof THREADS)[number];

/** Of those, which a thread is; undefined: none of them. */
export function measuredThread(isMain: boolean, data: unknown): Thread | undefined {
  if (isMain) return "main";
  return typeof data === "object" && data !== null && "link" in data && "kinds" in data
    ? "server"
    : undefined;
}

/** A `mooring up` whose event loops are measured. */
export interface MeasuredUp {
  up: Up;
  /** What the loops have done since the last call. */
  turns(): Promise<Record<Thread, Turns>>;
  /** After the process has ended. */
  remove(): Promise<void>;
}

export async function measuredUp(): Promise<MeasuredUp> {
  const folder = await mkdtemp(join(tmpdir(), "turns-"));
  const preload = await bundleProgram(new URL("measured.ts", import.meta.url));
  const profile = process.env["MOORING_PROFILE"];
  const more = profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`];
  const up = await Up.create({
    env: { MOORING_TURNS: folder },
    program: [process.execPath, ...more, "--import", preload.path, BUNDLE],
  });
  let asked = 0;
  return {
    up,
    turns: async () => {
      asked += 1;
      const names = THREADS.map((thread) => `${asked}-${thread}`);
      process.kill(up.pid, "SIGUSR2");
      await eventually("what the threads have measured", async () => {
        if (!up.alive) throw new Error(`mooring up has ended:\n${up.output.slice(-4000)}`);
        const there = await readdir(folder);
        return names.every((name) => there.includes(name));
      });
      const [main, server] = await Promise.all(
        names.map(async (name) => JSON.parse(await readFile(join(folder, name), "utf8")) as Turns),
      );
      if (main === undefined || server === undefined) throw new Error("a thread is missing");
      return { main, server };
    },
    remove: async () => {
      await preload.remove();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
