import { once } from "node:events";
import { after } from "node:test";
import { Worker } from "node:worker_threads";
import { objectStoreContract, testRegistry } from "../contract/index.ts";
import { bundleProgram } from "../testing/bundle-program.ts";
import type { StoreLink } from "./protocol.ts";
import { ThreadStore } from "./thread-store.ts";

const program = await bundleProgram(new URL("store-thread.ts", import.meta.url));
const thread = new Worker(program.path);
after(async () => {
  await thread.terminate();
  await program.remove();
});

async function ask(message: "open" | "close"): Promise<unknown> {
  const answered = once(thread, "message");
  thread.postMessage(message);
  return (await answered)[0];
}

objectStoreContract("the store of another thread", async (t) => {
  const store = new ThreadStore((await ask("open")) as StoreLink, { registry: testRegistry() });
  t.after(async () => {
    store.close();
    await ask("close");
  });
  return store;
});
