// A thread of tests that has stores: for each "open" it sends the link to a new one, for each "close" it closes the last.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parentPort } from "node:worker_threads";
import { testRegistry } from "../contract/kinds.ts";
import { LocalStore } from "../local/local-store.ts";
import { serveStore } from "./serve-store.ts";

let close = async () => {};

async function open(): Promise<void> {
  const path = await mkdtemp(join(tmpdir(), "mooring-store-"));
  const store = await LocalStore.open({ path, registry: testRegistry() });
  const stop = new AbortController();
  const { link, transfer } = serveStore(store, { signal: stop.signal });
  close = async () => {
    stop.abort();
    await store.close();
    await rm(path, { recursive: true, force: true });
  };
  parentPort?.postMessage(link, transfer as never);
}

parentPort?.on("message", (message: "open" | "close") => {
  if (message === "open") void open();
  else void close().then(() => parentPort?.postMessage("closed"));
});
