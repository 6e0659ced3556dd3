import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readdir, readFile, rm } from "node:fs/promises";
import { test } from "node:test";
import { eventually, thorough } from "@mooring/store/testing";
import { MOORING } from "../testing/command.ts";
import { remains } from "./machine.ts";

test("a demo that is interrupted ends its server, and leaves nothing", thorough(), async (t) => {
  const child = spawn(process.execPath, [MOORING, "demo"], { stdio: ["ignore", "pipe", "pipe"] });
  const ended = once(child, "exit") as Promise<[number | null, string | null]>;
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  const folder = () => /pool in (\S+mooring-demo-\S+)/.exec(output)?.[1];
  t.after(async () => {
    child.kill("SIGKILL");
    // There only when the test has failed.
    for (const pid of await serversOf(folder())) process.kill(pid, "SIGTERM");
    await eventually("the server to end", async () => (await serversOf(folder())).length === 0);
    if (folder() !== undefined) await rm(folder() ?? "", { recursive: true, force: true });
  });
  // With a pod, a volume and a mount.
  await eventually("a pod to run", async () => output.includes("Pod writer is Running"), {
    withinMs: 120_000,
    lastSeen: () => output,
  });
  child.kill("SIGINT");
  assert.deepEqual(await ended, [130, null], output);
  assert.match(output, /interrupted: the demo's server has ended, and its folder is removed/);
  assert.doesNotMatch(output, /FAILED/);
  assert.deepEqual(await serversOf(folder()), []);
  assert.deepEqual(await remains(folder() ?? ""), { mounts: [], loops: [], processes: [] });
  assert.equal(existsSync(folder() ?? ""), false);
});

/** Processes that `mooring up` is, on this state folder. */
async function serversOf(folder: string | undefined): Promise<number[]> {
  if (folder === undefined) return [];
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const line = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
      return line.includes(`\0up\0--state-dir\0${folder}\0`) ? [Number(pid)] : [];
    }),
  );
  return found.flat();
}
