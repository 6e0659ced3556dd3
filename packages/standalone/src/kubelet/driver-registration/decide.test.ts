import assert from "node:assert/strict";
import { test } from "node:test";
import { DONE, defined } from "@mooring/store";
import { decideSocket } from "./decide.ts";

test("a socket is asked once for each time that it was made, and a driver leaves with its own", () => {
  const socket = "d-reg.sock";
  const decide = (found?: string, identity?: string, known = identity !== undefined) =>
    decideSocket({
      ...{ socket, found },
      registered: known ? { name: "d", ...defined({ identity }) } : undefined,
    });
  assert.deepEqual(decide(), DONE);
  assert.deepEqual(decide("1"), { do: "register", identity: "1" });
  assert.deepEqual(decide("1", "1"), DONE);
  assert.deepEqual(decide("2", "1"), { do: "register", identity: "2" });
  assert.deepEqual(decide(undefined, "1"), { do: "unregister", driver: "d" });
  // Taken by an earlier process.
  assert.deepEqual(decide("1", undefined, true), { do: "register", identity: "1" });
  assert.deepEqual(decide(undefined, undefined, true), { do: "unregister", driver: "d" });
});
