import { armFailpoint, LocalStore } from "@mooring/store";
import { nothingSleeps } from "@mooring/store/testing";
import type { SidecarOptions } from "../options.ts";
import { startSidecars } from "../start.ts";
import { runMiniKube } from "../testing/mini-kube.ts";
import { testRegistry } from "../testing/registry.ts";
import { build, DECLARED, ownNode, tearDown } from "./world.ts";

/**
 * One life of a control plane: `child.ts <store folder> <endpoint> <build|build-by-nodes|own-node|tear-down>`. Ends with 0 when its part is
 * done, unless MOORING_FAILPOINT ends it before; then its output is the failpoints that it has passed.
 */
const OWN_NODE: Partial<SidecarOptions> = {
  controllers: ["provision"],
  nodeDeployment: { baseDelayMs: 5, maxDelayMs: 20 },
};
const [, , path = "", endpoint = "", part = ""] = process.argv;
const passed = armFailpoint(process.env["MOORING_FAILPOINT"]);
const store = await LocalStore.open({ path, registry: testRegistry() });
const life = new AbortController();
const kube = runMiniKube(store, life.signal, { kubelet: true });
const { done } = await startSidecars({
  store,
  endpoint,
  nodeName: "n1",
  retry: { startMs: 5, maxMs: 40, infeasibleMs: 60 },
  timeoutMs: 2_000,
  capacity: { pollMs: 50 },
  health: { probeMs: 1_000, volumesMs: 30 },
  ...(part === "tear-down" ? { csiDriver: DECLARED } : {}),
  ...(part === "own-node" ? OWN_NODE : {}),
  signal: life.signal,
});
if (part === "tear-down") await tearDown(store);
else if (part === "own-node") await ownNode(store);
else await build(store, { controllerExpands: part === "build" });
await nothingSleeps();
life.abort();
await Promise.all([done, kube]);
await store.close();
process.stdout.write(JSON.stringify([...new Set(passed)]));
