import assert from "node:assert/strict";
import { test } from "node:test";
import { createClock } from "../../host/clock.ts";
import type { Exec, ExecResult } from "../../host/host.ts";
import { RbdCommands } from "./commands.ts";

const DONE: ExecResult = { stdout: "[]", stderr: "", exitCode: 0, signal: null };

/** The first command is not ended by the cluster, the others are at once. */
function commands(): { rbd: RbdCommands; begun: Promise<void> } {
  let begin = () => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  let calls = 0;
  const respond: Exec["try"] = async () => {
    calls += 1;
    if (calls > 1) return DONE;
    begin();
    return new Promise(() => {});
  };
  const place = { conf: "/etc/ceph/ceph.conf", pool: "volumes", user: "admin" };
  const exec: Exec = { try: respond, run: respond };
  return { rbd: new RbdCommands({ exec, clock: createClock(), place, folder: "/none" }), begun };
}

test("a caller whose own time is over does not make the cluster pass for a silent one", async () => {
  const { rbd, begun } = commands();
  const caller = new AbortController();
  const first = rbd.rbd(["create", "x"], { signal: caller.signal });
  await begun;
  const over = new DOMException("the deadline has passed", "TimeoutError");
  caller.abort(over);
  await assert.rejects(first, (error) => error === over);
  assert.equal((await rbd.rbd(["ls"])).exitCode, 0, "the next caller is not refused");
});

test("a cluster that does not end a command in time is silent, for other callers as well", async () => {
  const { rbd } = commands();
  const message = /the Ceph cluster of volumes does not respond/;
  await assert.rejects(rbd.rbd(["ls"], { limit: 1 }), { code: "UNAVAILABLE", message });
  await assert.rejects(rbd.rbd(["ls"]), { code: "UNAVAILABLE", message });
});
