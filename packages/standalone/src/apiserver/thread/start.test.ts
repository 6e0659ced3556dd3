import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { LocalStore, ResourceRegistry, silentLogger } from "@mooring/store";
import { KindChanges } from "../../crd/index.ts";
import { ApiThread } from "./start.ts";

test("a thread that fails is a part that fails, with its error", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "mooring-thread-"));
  const program = join(folder, "fails.mjs");
  await writeFile(
    program,
    'import { parentPort } from "node:worker_threads";\nparentPort.on("message", () => { throw new Error("it broke"); });\n',
  );
  const store = await LocalStore.open({ path: join(folder, "store"), registry: new ResourceRegistry() });
  const stop = new AbortController();
  t.after(async () => {
    stop.abort();
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });
  const { signal } = stop;
  const options = {
    store,
    changes: new KindChanges(),
    logger: silentLogger,
    measure: async () => [],
    signal,
  };
  const thread = new ApiThread({ ...options, program });
  const serving = thread.serve(
    { listen: "127.0.0.1:0", stateDir: folder, nodeName: "n", kubelet: "" },
    signal,
  );
  await assert.rejects(thread.done, /it broke/);
  await assert.rejects(serving, /it broke/);
});
