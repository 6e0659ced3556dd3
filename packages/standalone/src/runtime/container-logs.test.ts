import assert from "node:assert/strict";
import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { everyday, thorough } from "@mooring/store/testing";
import { readStamps, timeOf } from "./log-stamps.ts";
import type { ContainerConfig } from "./runtime.ts";
import { finished, logOf, RuntimeOfFile } from "./testing/runtime-of-file.ts";

const of = RuntimeOfFile.open();

test("logs: tail, limit, times, since and follow", everyday(), async () => {
  const wanted = of.config(
    "echo one; echo two; while [ ! -e /data/three ]; do sleep 0.02; done; echo three; printf rest",
    { mounts: [{ source: of.stateDir, target: "/data", readOnly: true }] },
  );
  await of.runtime.start(wanted);
  const following = logOf(of.runtime, of.runtime.get(wanted.id) ?? assert.fail(), { follow: true });
  // Lines that nobody reads in between get one time.
  const twoAt = await timeOfFirst(wanted, "one\ntwo\n".length);
  await delay(Math.max(0, twoAt + 300 - Date.now()));
  await writeFile(join(of.stateDir, "three"), "");
  assert.equal(await following, "one\ntwo\nthree\nrest");
  const status = await finished(of.runtime, wanted.id);
  assert.equal(await logOf(of.runtime, status, { tailLines: 2 }), "three\nrest");
  assert.equal(await logOf(of.runtime, status, { limitBytes: 5 }), "one\nt");
  const stamped = (await logOf(of.runtime, status, { timestamps: true })).split("\n");
  const times = stamped.map((line) => Date.parse(line.split(" ")[0] ?? ""));
  assert.deepEqual(
    stamped.map((line) => line.split(" ")[1]),
    ["one", "two", "three", "rest"],
  );
  assert.ok((times[2] ?? 0) - (times[1] ?? 0) >= 200, stamped.join("|"));
  const since = new Date((times[2] ?? 0) - 100).toISOString();
  assert.equal(await logOf(of.runtime, status, { sinceTime: since }), "three\nrest");
});

test("the termination message of a container is kept with its exit", everyday(), async () => {
  const message = { path: "/dev/termination-log", fromLog: false };
  const ended = await of.runToEnd(
    of.config("echo 'disk full' > /dev/termination-log; exit 4", { terminationMessage: message }),
  );
  assert.equal(ended.status.exit?.message, "disk full\n");
  const logged = await of.runToEnd(
    of.config("echo first; echo last; exit 4", { terminationMessage: { ...message, fromLog: true } }),
  );
  assert.equal(logged.status.exit?.message, "first\nlast\n");
});

test(
  "a log that grows without end keeps its newest half, whole lines, and takes no more of the disk",
  thorough(),
  async () => {
    const wanted = of.config(
      "i=0; while [ $i -lt 100 ]; do i=$((i+1)); yes $i | head -c 1000000; echo; done; echo end",
    );
    await of.runtime.start(wanted);
    const status = await finished(of.runtime, wanted.id);
    const { size, blocks } = await stat(of.logFile(wanted));
    assert.ok(size > 100_000_000 && blocks * 512 < 80_000_000, `${size} ${blocks * 512}`);
    const log = await logOf(of.runtime, status);
    assert.ok(log.length >= 30_000_000 && log.length < 80_000_000, `${log.length}`);
    assert.ok(!log.includes("\0"));
    assert.ok(log.endsWith("\nend\n"));
  },
);

/** When the first bytes of the log were there, once that is noted. */
async function timeOfFirst(wanted: ContainerConfig, bytes: number): Promise<number> {
  for (const deadline = Date.now() + 60_000; ; await delay(20)) {
    const time = timeOf(await readStamps(of.logFile(wanted)), bytes);
    if (time !== undefined) return time;
    assert.ok(Date.now() < deadline, "nobody noted the time");
  }
}
