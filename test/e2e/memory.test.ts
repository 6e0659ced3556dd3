import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { eventually } from "@mooring/store/testing";
import { Up } from "../support/up.ts";

/** What `mooring up` may have at rest, in MiB; about 116 on Node.js 20, the thread of the API server among them. */
const REST = 120;
/** What its start leaves at least: about 20 MiB. Less has not been given back, but never been there. */
const GIVEN_BACK = 8;

async function memoryOf(pid: number): Promise<{ resident: number; peak: number }> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const of = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1] ?? Number.NaN) / 1024;
  return { resident: of("VmRSS"), peak: of("VmHWM") };
}

test("a process at rest is small, and has given back what its start took", async (t) => {
  const up = await Up.create({ pool: "directory" });
  t.after(() => up.dispose());
  await up.start();
  await eventually(
    `at most ${REST} MiB to be resident, and ${GIVEN_BACK} less than at the peak`,
    async () => {
      const { resident, peak } = await memoryOf(up.pid);
      return resident <= REST && resident <= peak - GIVEN_BACK;
    },
    // A process that others keep from running comes to rest late.
    { withinMs: 300_000, everyMs: 250, lastSeen: () => memoryOf(up.pid) },
  );
});
