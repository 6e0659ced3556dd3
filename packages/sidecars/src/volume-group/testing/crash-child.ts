import { armFailpoint, LocalStore } from "@mooring/store";
import { nothingSleeps } from "@mooring/store/testing";
import { startSidecars } from "../../start.ts";
import { runMiniKube } from "../../testing/mini-kube.ts";
import { testRegistry } from "../../testing/registry.ts";
import { build, deleteGroups, tearDown } from "./crash-story.ts";

/**
 * One life of a control plane: `crash-child.ts <store folder> <endpoint> <build|tear-down>`. Ends with 0 when its part is
 * done, unless MOORING_FAILPOINT ends it before; then its output is the failpoints that it has passed.
 */
const [, , path = "", endpoint = "", part = ""] = process.argv;
const passed = armFailpoint(process.env["MOORING_FAILPOINT"]);
const store = await LocalStore.open({ path, registry: testRegistry() });
// While no control plane runs: one that begins would first finish what an earlier one has begun.
if (part === "tear-down") await deleteGroups(store);
const life = new AbortController();
const kube = runMiniKube(store, life.signal);
const { done } = await startSidecars({
  store,
  endpoint,
  retry: { startMs: 5, maxMs: 40, infeasibleMs: 60 },
  timeoutMs: 2_000,
  signal: life.signal,
});
await (part === "build" ? build(store) : tearDown(store));
await nothingSleeps();
life.abort();
await Promise.all([done, kube]);
await store.close();
process.stdout.write(JSON.stringify([...new Set(passed)]));
