import assert from "node:assert/strict";
import { test } from "node:test";
import { converge, type EndStep } from "./converge.ts";
import type { EngineError } from "./errors.ts";

type Step = EndStep | { do: "open-device" } | { do: "record"; what: string };

test("a decision that never rests is ended, and says which steps undo each other", async () => {
  let open = false;
  const running = converge<{ open: boolean }, Step>({
    mostSteps: 6,
    read: async () => ({ open }),
    decide: (view) => (view.open ? { do: "record", what: "device-lost" } : { do: "open-device" }),
    apply: async () => {
      open = !open;
    },
  });
  await assert.rejects(running, (error: EngineError) => {
    assert.equal(error.code, "ABORTED");
    assert.match(error.message, /no rest after 6 steps.*: open-device, record device-lost, open-device/);
    return true;
  });
});
