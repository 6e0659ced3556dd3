import assert from "node:assert/strict";
import { test } from "node:test";
import { StatusError } from "@mooring/store";
import { answered } from "./answered.ts";

/** Fails with each of the reasons in turn, then succeeds. */
function sender(...reasons: ConstructorParameters<typeof StatusError>[0][]) {
  let sent = 0;
  const send = async (): Promise<void> => {
    const reason = reasons[sent++];
    if (reason !== undefined) throw new StatusError(reason, "as told");
  };
  return { send, sent: () => sent };
}

test("what has no response is sent again, and may have been done by the first", async () => {
  for (const reason of ["AlreadyExists", "NotFound"] as const) {
    const { send, sent } = sender("Timeout", "ServiceUnavailable", reason);
    await answered(send);
    assert.equal(sent(), 3, reason);
  }
  const { send, sent } = sender("Timeout");
  await answered(send);
  assert.equal(sent(), 2);
});

test("a refusal is one, and a server that stays silent is given up", async () => {
  const { send, sent } = sender("AlreadyExists");
  await assert.rejects(answered(send), /as told/);
  assert.equal(sent(), 1);
  await assert.rejects(
    answered(sender("Timeout", "Timeout").send, AbortSignal.abort(new Error("too long"))),
    /too long/,
  );
});
