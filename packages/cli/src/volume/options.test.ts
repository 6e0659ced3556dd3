import assert from "node:assert/strict";
import { test } from "node:test";
import { EngineError } from "@mooring/engine";
import { defined } from "@mooring/store";
import { withNextStep } from "./options.ts";

test("a flag is named where the engine marks that there is a way, and not for text in its hint", async () => {
  const refuse = (hint: string, wayOut?: "queue" | "force") =>
    withNextStep(
      Promise.reject(new EngineError("FAILED_PRECONDITION", "no", { hint, ...defined({ wayOut }) })),
    );
  await assert.rejects(refuse("Read who is in the queue."), { next: "Read who is in the queue." });
  await assert.rejects(refuse("Wait for them.", "queue"), { next: "Wait for them. (--queue)" });
  await assert.rejects(refuse("Ask ann.", "force"), { next: "Ask ann. (--force)" });
});
