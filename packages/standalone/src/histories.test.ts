import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { CsiError } from "@mooring/csi";
import { NodeAgents } from "@mooring/engine";
import {
  atRest,
  ConfigMaps,
  type CronJob,
  CronJobs,
  CSINodes,
  isConflict,
  isStatus,
  Jobs,
  type KubeObject,
  KubeVolumeAttachments,
  lastingSleepers,
  mutate,
  Namespaces,
  type Node,
  Nodes,
  ownerReferenceTo,
  PersistentVolumeClaims,
  PersistentVolumes,
  Pods,
  type Resource,
  ResourceQuotas,
  StorageClasses,
  silentLogger,
} from "@mooring/store";
import {
  type Disturbance,
  disturb,
  endAtRest,
  eventually,
  howMany,
  untilEachHasStepped,
} from "@mooring/store/testing";
import fc from "fast-check";
import { ClusterRoles } from "./apiserver/auth/rbac.ts";
import { startCronJobController } from "./controllers/cron-job/index.ts";
import { startGarbageCollector } from "./controllers/garbage-collector/index.ts";
import { startJobController } from "./controllers/job/index.ts";
import { startNamespaceController } from "./controllers/namespace/index.ts";
import { startNodeLifecycle } from "./controllers/node-lifecycle/index.ts";
import { startResourceQuotaController } from "./controllers/resource-quota/index.ts";
import { startRoleAggregation } from "./controllers/role-aggregation/index.ts";
import { CronClock, cronJob } from "./controllers/testing/cron-clock.ts";
import { FarNode } from "./controllers/testing/far-node.ts";
import {
  definition,
  job,
  podWithEphemeral,
  role,
  storageClass,
} from "./controllers/testing/history-objects.ts";
import { openWorkloadsView } from "./controllers/workloads/view.ts";
import { startCrdController } from "./crd/index.ts";
import { CustomResourceDefinitions } from "./crd/types.ts";
import { type RegisteringDriver, startRegisteringDriver } from "./kubelet/testing/registering-driver.ts";
import {
  claim,
  NODE,
  pod,
  podWithClaim,
  startTestCluster,
  type TestCluster,
} from "./kubelet/testing/test-cluster.ts";

/** Those that something waits for first: they are disturbed most. */
const KINDS = [
  ...[Pods, PersistentVolumeClaims, PersistentVolumes, KubeVolumeAttachments],
  ...[
    Jobs,
    ResourceQuotas,
    StorageClasses,
    Nodes,
    CSINodes,
    ConfigMaps,
    Namespaces,
    ClusterRoles,
    CustomResourceDefinitions,
    CronJobs,
    NodeAgents,
  ],
] as unknown as Resource<KubeObject>[];

const DEEDS = [
  ...["claim", "late-claim", "pod", "pod", "ephemeral", "ephemeral", "grow"],
  ...[
    "owned",
    "namespace",
    "role",
    "definition",
    "taint",
    "class",
    "failing-calls",
    "job",
    "suspend",
    "quota",
  ],
  ...["cron", "cron-suspend", "cron-change", "minutes", "minutes"],
  ...["silence", "beat", "fence", "far-pod"],
  ...["register", "leave", "move"],
] as const;
type Deed = (typeof DEEDS)[number];
type Change = { do: Deed; which: number } | Disturbance;

const which = fc.nat({ max: 1 });
const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom(...DEEDS), which }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom("delete" as const, "strip" as const, "touch" as const),
      kind: fc.oneof(fc.nat({ max: 3 }), fc.nat({ max: KINDS.length - 1 })),
      which,
    }),
  },
);

const LATE = "late";

/** A cluster and what moves on beside it: the clock of CronJobs, and a node that may fall silent. */
interface Scene {
  cluster: TestCluster;
  clock: CronClock;
  far: FarNode;
  /** Drivers of others, which register themselves with the kubelet. */
  vendors: readonly RegisteringDriver[];
}

/** What the clock and nodes do. */
function timeDeeds({ cluster: { store }, clock, far }: Scene, number: number) {
  const key = { namespace: "default", name: `t${number}` };
  const change = (edit: (spec: NonNullable<CronJob["spec"]>) => void) =>
    mutate(store, CronJobs, key, ({ spec }) => {
      if (spec !== undefined) edit(spec);
    });
  const template = pod(key.name, number === 0 ? "sleep 1000" : "true").spec;
  return {
    cron: () => store.create(CronJobs, cronJob(key.name, number === 0 ? "replaces" : "waits", template)),
    "cron-suspend": () =>
      change((spec) => {
        spec.suspend = spec.suspend !== true;
      }),
    "cron-change": () =>
      change((spec) => {
        spec.schedule = spec.schedule === "*/3 * * * *" ? "* * * * *" : "*/3 * * * *";
      }),
    minutes: () => clock.pass(1 + 4 * number),
    silence: () => far.falls(number === 0 ? far.name : NODE),
    beat: () => (number === 0 ? far.beats() : far.rises(NODE)),
    fence: () => far.isFenced(number === 0),
    "far-pod": () => far.pod(`f${number}`),
  };
}

/** What drivers of others do on the node. */
function vendorDeeds({ vendors }: Scene, number: number) {
  const vendor = vendors[number];
  return {
    register: () => vendor?.register(),
    leave: () => vendor?.leave(),
    move: () => vendor?.move(`node-${Math.random()}`),
  };
}

/** What users and administrators may do, twice each, and calls of the driver that fail. */
function deeds(scene: Scene, number: number): Record<Deed, () => unknown> {
  const { driver, store } = scene.cluster;
  const namespace = `n${number}`;
  return {
    ...timeDeeds(scene, number),
    ...vendorDeeds(scene, number),
    claim: () => store.create(PersistentVolumeClaims, claim(`c${number}`)),
    "late-claim": () => store.create(PersistentVolumeClaims, claim(`l${number}`, { storageClassName: LATE })),
    pod: async () => {
      const [name, storageClassName] = number === 0 ? ["c0", "dir"] : ["l1", LATE];
      await store.create(PersistentVolumeClaims, claim(name, { storageClassName })).catch(forgive);
      await store.create(Pods, podWithClaim(`p${number}`, name, "sleep 1000"));
    },
    ephemeral: () => store.create(Pods, podWithEphemeral(`e${number}`, number === 0 ? "dir" : LATE)),
    grow: () =>
      mutate(store, PersistentVolumeClaims, { namespace: "default", name: `c${number}` }, ({ spec }) => {
        if (spec?.resources?.requests) spec.resources.requests["storage"] = "2Gi";
      }),
    "failing-calls": () => {
      let left = 1 + 3 * number;
      driver.before = (call) => {
        if (left-- > 0) throw CsiError.unavailable(`${call} fails as the test wants`);
      };
    },
    owned: async () => {
      const pod = await store.get(Pods, { namespace: "default", name: `p${number}` });
      const metadata = { namespace: "default", name: `o${number}`, ownerReferences: [ownerReferenceTo(pod)] };
      await store.create(ConfigMaps, { apiVersion: "v1", kind: "ConfigMap", metadata });
    },
    namespace: async () => {
      await store.create(Namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
      const metadata = { namespace, name: "inside", finalizers: ["example.com/f"] };
      await store.create(ConfigMaps, { apiVersion: "v1", kind: "ConfigMap", metadata });
    },
    role: () => store.create(ClusterRoles, role(number)),
    job: () => store.create(Jobs, job(`j${number}`, number === 0 ? "sleep 1000" : "exit 1")),
    suspend: () =>
      mutate(store, Jobs, { namespace: "default", name: `j${number}` }, ({ spec }) => {
        if (spec !== undefined) spec.suspend = spec.suspend !== true;
      }),
    quota: async () => {
      const metadata = { namespace: "default", name: `q${number}` };
      const spec = { hard: { "requests.storage": `${1 + 2 * number}Gi` } };
      await store.create(ResourceQuotas, { apiVersion: "v1", kind: "ResourceQuota", metadata, spec });
    },
    definition: () => store.create(CustomResourceDefinitions, definition(number) as never),
    taint: () =>
      mutate(store, Nodes, { name: NODE }, (node) => {
        node.spec = {
          ...node.spec,
          taints: number === 0 ? [{ key: "example.com/t", effect: "NoExecute" }] : [],
        };
      }),
    class: async () => {
      await store.create(StorageClasses, storageClass(LATE, "WaitForFirstConsumer")).catch(forgive);
      await store.create(StorageClasses, storageClass("dir", "Immediate"));
    },
  };
}

async function make(scene: Scene, what: Change): Promise<void> {
  if (!("kind" in what)) return void (await deeds(scene, what.which)[what.do]());
  // A kubelet makes its node once, when it starts.
  await disturb(scene.cluster.store, KINDS, what, ({ metadata }) => metadata.name === NODE);
}

/**
 * The node is heard of, ready and without taints, and its driver works: an earlier history may have left it so that no pod comes to run,
 * and then the kubelet and what attaches its volumes would have nothing to sleep through.
 */
async function heal({ cluster: { driver, store }, far }: Scene): Promise<void> {
  driver.before = () => {};
  far.rises(NODE);
  await mutate(store, Nodes, { name: NODE }, (node) => {
    node.spec = { ...node.spec, taints: [] };
  });
  const change = (node: Node) => {
    const others = node.status?.conditions?.filter(({ type }) => type !== "Ready") ?? [];
    const ready = { type: "Ready", status: "True" as const, reason: "KubeletReady" };
    return { ...node, status: { ...node.status, conditions: [...others, ready] } };
  };
  await mutate(store, Nodes, { name: NODE }, { change, subresource: "status" });
}

/** The first history: volumes are made, attached, mounted and grown, and each other controller gets something to do. */
async function liveOnce(scene: Scene): Promise<void> {
  const all = async (...deeds: Deed[]) => {
    for (const what of deeds)
      for (const which of [0, 1]) await make(scene, { do: what, which }).catch(forgive);
  };
  await all("register", "class", "claim", "pod", "late-claim", "ephemeral", "owned");
  await eventually("a claim that can grow", async () => {
    const { status } = await scene.cluster.store.get(PersistentVolumeClaims, C0);
    return status?.phase === "Bound";
  });
  // The quota comes last: it leaves no room to grow.
  await all("grow", "definition", "role", "job", "cron", "minutes", "quota");
  // A node falls silent, and what belongs to a pod follows it.
  await make(scene, { do: "silence", which: 0 });
  await scene.cluster.store.delete(Pods, { namespace: "default", name: "p0" }).catch(forgive);
}

const C0 = { namespace: "default", name: "c0" };

/** Controllers that the histories must have given something to do. */
const TAKE_PART = [
  ...["attach", "attach-detach", "binder", "crd", "cron-job", "driver-registration", "ephemeral-volumes"],
  ...["garbage-collector", "job", "kubelet", "namespace", "node-lifecycle", "node-registration", "provision"],
  ...["pv-protection", "pvc-protection", "resize", "resource-quota", "role-aggregation", "scheduler"],
  "volume-manager",
];

/** What the history has come too late for, or the API refuses. */
function forgive(error: unknown): void {
  if (isConflict(error) || isStatus(error, "NotFound", "AlreadyExists", "Invalid", "Forbidden")) return;
  throw error;
}

/** The controllers that {@link startTestCluster} does without. */
async function startOthers({ cluster, clock, far }: Scene, signal: AbortSignal) {
  const { store, kinds, registry, view } = cluster;
  const common = { store, kinds, logger: silentLogger, signal };
  registry.register({ resource: NodeAgents, hasStatus: true });
  const workloads = await openWorkloadsView(store, common);
  await far.beats();
  return Promise.all([
    workloads,
    { done: far.run(signal) },
    startCronJobController({ ...common, workloads, clock: clock.now }),
    startCrdController({ ...common, registry }),
    startGarbageCollector(common),
    startNamespaceController({ ...common, caPem: "certificate" }),
    startRoleAggregation(common),
    startNodeLifecycle({ ...common, view, sinceBoot: far.sinceBoot, graceMs: far.graceMs }),
    startJobController({ ...common, view, workloads, backoff: { baseMs: 1, maxMs: 1 } }),
    startResourceQuotaController({ ...common, view }),
  ]);
}

test("histories of random changes: no controller of standalone mode sleeps through what it has to do", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "mooring-histories-"));
  const cluster = await startTestCluster(folder, silentLogger, { registers: true });
  const stop = new AbortController();
  const clock = new CronClock(cluster.store);
  const far = new FarNode(cluster.store, [NODE]);
  const vendors = await Promise.all(
    ["one", "two"].map((name) => startRegisteringDriver(join(folder, "kubelet"), `${name}.example.com`)),
  );
  const scene = { cluster, clock, far, vendors };
  const others = await startOthers(scene, stop.signal);
  t.after(async () => {
    // Asked while they run: what has stopped has nothing to do any more.
    await endAtRest(async () => {
      stop.abort();
      await Promise.all(others.map(({ done }) => done));
      await Promise.all(vendors.map((vendor) => vendor.stop()));
      await cluster.stop();
      await rm(folder, { recursive: true });
    });
  });
  await liveOnce(scene);
  await untilEachHasStepped(TAKE_PART);
  await fc.assert(
    fc.asyncProperty(
      fc.array(change, { minLength: 4, maxLength: 20 }),
      fc.boolean(),
      fc.boolean(),
      async (history, atOnce, settles) => {
        await heal(scene);
        if (atOnce) await Promise.all(history.map((each) => make(scene, each).catch(forgive)));
        else for (const each of history) await make(scene, each).catch(forgive);
        // Who is busy for longer does not sleep, and how long that takes decides nothing.
        if (settles) await atRest().catch(() => {});
        assert.deepEqual(await lastingSleepers(), []);
      },
    ),
    { numRuns: howMany({ everyday: 5, full: 60, deep: 1_000 }), endOnFailure: true },
  );
});
