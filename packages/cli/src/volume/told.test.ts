import assert from "node:assert/strict";
import { test } from "node:test";
import { EngineError } from "@mooring/engine";
import { defined } from "@mooring/store";
import { told } from "./options.ts";

test("a flag is named where the engine says that there is a way, and not for a word in its hint", async () => {
  const refuse = (hint: string, wayOut?: "queue" | "force") =>
    told(Promise.reject(new EngineError("FAILED_PRECONDITION", "no", { hint, ...defined({ wayOut }) })));
  await assert.rejects(refuse("Look at who is in the queue."), { next: "Look at who is in the queue." });
  await assert.rejects(refuse("Wait for them.", "queue"), { next: "Wait for them. (--queue)" });
  await assert.rejects(refuse("Ask ann.", "force"), { next: "Ask ann. (--force)" });
});
