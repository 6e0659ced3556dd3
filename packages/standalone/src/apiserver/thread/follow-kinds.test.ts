import assert from "node:assert/strict";
import { test } from "node:test";
import { MessageChannel } from "node:worker_threads";
import { ResourceRegistry } from "@mooring/store";
import { createKindRegistry } from "../../kinds/kind-info.ts";
import { followKinds } from "./follow-kinds.ts";

test("a definition that cannot be served here does not count as known", (t) => {
  const { port1, port2 } = new MessageChannel();
  t.after(() => port1.close());
  const { catchUp } = followKinds(port2, new ResourceRegistry(), createKindRegistry());
  port1.postMessage({ count: 1 });
  assert.equal(catchUp(), 1);
  const crd = { metadata: { name: "broken", uid: "u", generation: 1 }, spec: {} };
  port1.postMessage({ count: 2, change: { do: "serve", crd } });
  assert.throws(catchUp);
  assert.equal(catchUp(), 1, "what is decided here is decided anew there");
});
