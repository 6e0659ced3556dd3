import assert from "node:assert/strict";
import { test } from "node:test";
import { StatusError } from "@mooring/store";
import { accepted } from "./accepted.ts";

/** Fails with each of the reasons in turn, then succeeds. */
function sender(...reasons: ConstructorParameters<typeof StatusError>[0][]) {
  let sent = 0;
  const send = async (): Promise<void> => {
    const reason = reasons[sent++];
    if (reason !== undefined) throw new StatusError(reason, "as scripted");
  };
  return { send, sent: () => sent };
}

test("what has no response is sent again, and may have been done by the first", async () => {
  for (const reason of ["AlreadyExists", "NotFound"] as const) {
    const { send, sent } = sender("Timeout", "ServiceUnavailable", reason);
    await accepted(send);
    assert.equal(sent(), 3, reason);
  }
  const { send, sent } = sender("Timeout");
  await accepted(send);
  assert.equal(sent(), 2);
});

test("a refusal is one, and a server that stays silent is given up", async () => {
  const { send, sent } = sender("AlreadyExists");
  await assert.rejects(accepted(send), /as scripted/);
  assert.equal(sent(), 1);
  await assert.rejects(
    accepted(sender("Timeout", "Timeout").send, AbortSignal.abort(new Error("too long"))),
    /too long/,
  );
});
