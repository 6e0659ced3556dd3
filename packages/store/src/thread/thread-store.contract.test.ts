import assert from "node:assert/strict";
import { once } from "node:events";
import { after, type TestContext, test } from "node:test";
import { Worker } from "node:worker_threads";
import { objectStoreContract, testRegistry, Widgets, widget } from "../contract/index.ts";
import { bundleProgram } from "../testing/bundle-program.ts";
import type { StoreLink } from "./protocol.ts";
import { ThreadStore } from "./thread-store.ts";

const program = await bundleProgram(new URL("store-thread.ts", import.meta.url));
const thread = new Worker(program.path);
after(async () => {
  await thread.terminate();
  await program.remove();
});

async function ask(message: "open" | "close" | "patch"): Promise<unknown> {
  const received = once(thread, "message");
  thread.postMessage(message);
  return (await received)[0];
}

async function openStore(t: TestContext): Promise<ThreadStore> {
  const store = new ThreadStore((await ask("open")) as StoreLink, { registry: testRegistry() });
  t.after(async () => {
    store.close();
    await ask("close");
  });
  return store;
}

objectStoreContract("the store of another thread", openStore);

test("what both threads write to one object at the same time is all there in the end", async (t) => {
  const store = await openStore(t);
  await store.create(Widgets, widget("a"));
  const patched = ask("patch");
  for (let at = 0; at < 100; at += 1) {
    const body = { metadata: { labels: { [`there-${at}`]: "yes" } } };
    await store.patch(Widgets, { namespace: "default", name: "a" }, { type: "merge", body });
  }
  await patched;
  const { labels = {} } = (await store.get(Widgets, { namespace: "default", name: "a" })).metadata;
  assert.equal(Object.keys(labels).filter((name) => /^t?here-/.test(name)).length, 200);
});
