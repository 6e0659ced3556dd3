// A thread of tests that has stores: for each "open" it sends the link to a new one, for each "close" it closes the last, and
// for "patch" it patches the Widget "a" of the last a hundred times, while others do.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parentPort } from "node:worker_threads";
import { testRegistry, Widgets } from "../contract/kinds.ts";
import { LocalStore } from "../local/local-store.ts";
import { serveStore } from "./serve-store.ts";

let close = async () => {};
let store: LocalStore | undefined;

async function open(): Promise<void> {
  const path = await mkdtemp(join(tmpdir(), "mooring-store-"));
  const opened = await LocalStore.open({ path, registry: testRegistry() });
  store = opened;
  const stop = new AbortController();
  const { link, transfer } = serveStore(opened, { signal: stop.signal });
  close = async () => {
    stop.abort();
    await opened.close();
    await rm(path, { recursive: true, force: true });
  };
  parentPort?.postMessage(link, transfer as never);
}

async function patch(): Promise<void> {
  for (let at = 0; at < 100; at += 1) {
    const body = { metadata: { labels: { [`here-${at}`]: "yes" } } };
    await store?.patch(Widgets, { namespace: "default", name: "a" }, { type: "merge", body });
  }
  parentPort?.postMessage("patched");
}

parentPort?.on("message", (message: "open" | "close" | "patch") => {
  if (message === "open") void open();
  else if (message === "patch") void patch();
  else void close().then(() => parentPort?.postMessage("closed"));
});
