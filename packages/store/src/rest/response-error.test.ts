import assert from "node:assert/strict";
import { test } from "node:test";
import { statusFrom } from "./response-error.ts";

test("a Status whose code is none of an error has the code of the response", () => {
  for (const code of ["409", 0, 200, 4.5, null]) {
    const body = JSON.stringify({
      kind: "Status",
      status: "Failure",
      reason: "Conflict",
      message: "later",
      code,
    });
    const { reason, message, code: taken } = statusFrom(503, body);
    assert.deepEqual([reason, message, taken], ["Conflict", "later", 503], String(code));
  }
});

test("what has not the type of a Status' field is as absent", () => {
  const body = JSON.stringify({ kind: "Status", reason: { a: 1 }, message: 7, details: ["x"], code: 404 });
  const { reason, message, details } = statusFrom(404, body);
  assert.deepEqual([reason, message, details], ["NotFound", "the server responded with 404", {}]);
});
