import assert from "node:assert/strict";
import { test } from "node:test";
import type {
  CSIStorageCapacity,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  StorageClass,
} from "@mooring/store";
import { defined } from "@mooring/store";
import { covers } from "@mooring/store/testing";
import { SELECTED_NODE } from "../binder/names.ts";
import { type ClaimView, decide, type NodeView, type SchedulingView } from "./decide.ts";

function nodeOf(
  name: string,
  more: { labels?: Record<string, string>; spec?: Node["spec"]; ready?: string } = {},
): NodeView {
  const node: Node = {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels: { "kubernetes.io/hostname": name, ...more.labels } },
    ...defined({ spec: more.spec }),
    status: { conditions: [{ type: "Ready", status: more.ready ?? "True" }], allocatable: { pods: "10" } },
  };
  return { node, used: new Map(), limits: new Map(), hostPorts: new Set(), pods: 0, requested: new Map() };
}

function podOf(spec: Partial<NonNullable<Pod["spec"]>> = {}): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace: "ns" },
    spec: { containers: [], ...spec },
  };
}

const later: StorageClass = {
  apiVersion: "storage.k8s.io/v1",
  kind: "StorageClass",
  metadata: { name: "later" },
  provisioner: "d",
  volumeBindingMode: "WaitForFirstConsumer",
};

function claimOf(more: Partial<ClaimView> = {}, annotations: Record<string, string> = {}): ClaimView {
  const claim: PersistentVolumeClaim = {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: "c", namespace: "ns", uid: "u", annotations },
    spec: { storageClassName: "later", resources: { requests: { storage: "2Gi" } } },
  };
  return { name: "c", claim, volume: undefined, storageClass: later, candidates: [], ...more };
}

function volumeOf(zone?: string): PersistentVolume {
  const required = {
    nodeSelectorTerms: [{ matchExpressions: [{ key: "zone", operator: "In", values: [zone ?? ""] }] }],
  };
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: "v" },
    spec: {
      csi: { driver: "d", volumeHandle: "h" },
      ...(zone === undefined ? {} : { nodeAffinity: { required } }),
    },
  };
}

function run(view: Partial<SchedulingView>): ReturnType<typeof decide> {
  return decide({
    pod: podOf(),
    claims: [],
    nodes: [nodeOf("n")],
    capacities: [],
    tracksCapacity: () => false,
    ...view,
  });
}

function refusal(view: Partial<SchedulingView>): string {
  const step = run(view);
  return step.do === "report-unschedulable" ? step.message : `not refused: ${step.do}`;
}

test("a pod goes to a node that suits it; the emptier one of two", () => {
  assert.deepEqual(run({}), { do: "bind", node: "n" });
  assert.deepEqual(run({ nodes: [{ ...nodeOf("a"), pods: 3 }, nodeOf("b")] }), { do: "bind", node: "b" });
  assert.deepEqual(
    run({
      pod: podOf({ nodeSelector: { disk: "ssd" } }),
      nodes: [nodeOf("a"), nodeOf("b", { labels: { disk: "ssd" } })],
    }),
    { do: "bind", node: "b" },
  );
  const taints = [{ key: "k", value: "v", effect: "NoSchedule" }];
  const tolerations = [{ key: "k", operator: "Equal", value: "v", effect: "NoSchedule" }];
  assert.deepEqual(run({ pod: podOf({ tolerations }), nodes: [nodeOf("a", { spec: { taints } })] }), {
    do: "bind",
    node: "a",
  });
});

test("each reason why not is named, counted, and comes with what to do", () => {
  const taints = [{ key: "k", value: "v", effect: "NoSchedule" }];
  const rows: [Partial<SchedulingView>, RegExp][] = [
    [{ nodes: [] }, /^0\/0 nodes are available/],
    [{ nodes: [nodeOf("a", { ready: "False" })] }, /1 node\(s\) were not ready.*kubectl describe node/],
    [
      { nodes: [nodeOf("a", { spec: { taints } }), nodeOf("b", { spec: { taints } })] },
      /^0\/2 nodes are available: 2 node\(s\) had untolerated taint \{k: v\}\..*toleration/,
    ],
    [{ nodes: [nodeOf("a", { spec: { unschedulable: true } })] }, /node.kubernetes.io\/unschedulable/],
    [
      { pod: podOf({ nodeSelector: { disk: "ssd" } }) },
      /didn't match Pod's node affinity\/selector.*label a node/,
    ],
    [{ nodes: [{ ...nodeOf("a"), pods: 10 }] }, /Too many pods/],
    [{ claims: [claimOf({ claim: undefined })] }, /"c" not found.*Create it/],
    [{ claims: [claimOf({ takenBy: "q" })] }, /ReadWriteOncePod.*pod "q".*Delete that pod first/],
    [{ claims: [claimOf({ foreign: true })] }, /was not created for pod/],
    [
      { claims: [claimOf({ storageClass: { ...later, volumeBindingMode: "Immediate" } })] },
      /unbound immediate PersistentVolumeClaims.*kubectl describe pvc c/,
    ],
    [
      { claims: [claimOf({ volume: volumeOf("b") })], nodes: [nodeOf("a", { labels: { zone: "a" } })] },
      /volume node affinity conflict/,
    ],
    [
      {
        claims: [claimOf({ volume: volumeOf() })],
        nodes: [{ ...nodeOf("a"), limits: new Map([["d", 1]]), used: new Map([["d", new Set(["other"])]]) }],
      },
      /exceed max volume count.*Delete pods/,
    ],
  ];
  for (const [view, expected] of rows) assert.match(refusal(view), expected);
});

test("what pods ask for has to fit beside what is there: sidecars and init containers as they run", () => {
  const asks = (requests: Record<string, string>, more = {}) => ({
    name: "c",
    image: "host",
    resources: { requests },
    ...more,
  });
  const plain = nodeOf("n");
  const status = { ...plain.node.status, allocatable: { pods: "10", cpu: "2", memory: "4Gi" } };
  const node = { ...plain, node: { ...plain.node, status } };
  const with_ = (requested: [string, bigint][]) => [{ ...node, requested: new Map(requested) }];
  const half = podOf({ containers: [asks({ cpu: "500m", memory: "2Gi" }), asks({ cpu: "500m" })] });
  assert.deepEqual(run({ pod: half, nodes: with_([["cpu", 1000n]]) }), { do: "bind", node: "n" });
  assert.match(
    refusal({ pod: half, nodes: with_([["cpu", 1001n]]) }),
    /^0\/1 nodes are available: 1 Insufficient cpu\./,
  );
  const greedy = podOf({ containers: [asks({ cpu: "64", memory: "1Ti", "example.com/gpu": "1" })] });
  assert.match(
    refusal({ pod: greedy, nodes: [node] }),
    /1 Insufficient cpu, 1 Insufficient example\.com\/gpu, 1 Insufficient memory\. .*resources\.requests/,
  );
  const sidecar = asks({ cpu: "1" }, { restartPolicy: "Always" });
  const fits = podOf({ initContainers: [asks({ cpu: "2" }), sidecar], containers: [asks({ cpu: "1" })] });
  assert.equal(run({ pod: fits, nodes: [node] }).do, "bind");
  const late = podOf({ initContainers: [sidecar, asks({ cpu: "2" })], containers: [asks({ cpu: "1" })] });
  assert.match(refusal({ pod: late, nodes: [node] }), /Insufficient cpu/);
});

test("what is asked for a pod as a whole counts in the place of what its containers ask for", () => {
  const plain = nodeOf("n");
  const status = { ...plain.node.status, allocatable: { pods: "10", cpu: "2", memory: "4Gi" } };
  const nodes = [{ ...plain, node: { ...plain.node, status } }];
  const containers = [{ name: "c", image: "host", resources: { requests: { cpu: "1", memory: "1Gi" } } }];
  const asking = (cpu: string) => podOf({ containers, resources: { requests: { cpu } } } as never);
  assert.match(refusal({ pod: asking("3"), nodes }), /1 Insufficient cpu\./);
  assert.equal(run({ pod: asking("2"), nodes }).do, "bind");
});

test("a port of the machine is one pod's", () => {
  const asking = (hostPort: number, protocol?: string) =>
    podOf({
      containers: [
        {
          name: "c",
          image: "host",
          ports: [{ containerPort: hostPort, hostPort, ...defined({ protocol }) }],
        },
      ],
    });
  const nodes = [{ ...nodeOf("n"), hostPorts: new Set(["TCP/80"]) }];
  assert.match(
    refusal({ pod: asking(80), nodes }),
    /^0\/1 nodes are available: 1 node\(s\) didn't have free ports for the requested pod ports\. .*another hostPort/,
  );
  assert.equal(run({ pod: asking(80, "UDP"), nodes }).do, "bind");
  assert.equal(run({ pod: asking(81), nodes }).do, "bind");
});

test("a volume that a pod on the node uses already does not count twice against the limit", () => {
  const node = { ...nodeOf("a"), limits: new Map([["d", 1]]), used: new Map([["d", new Set(["h"])]]) };
  assert.deepEqual(run({ claims: [claimOf({ volume: volumeOf() })], nodes: [node] }), {
    do: "bind",
    node: "a",
  });
});

test("a claim that waits for its first consumer gets the node that can have the volume", () => {
  covers("K8S-096");
  const allowed: StorageClass = {
    ...later,
    allowedTopologies: [{ matchLabelExpressions: [{ key: "zone", values: ["b"] }] }],
  };
  const nodes = [nodeOf("a", { labels: { zone: "a" } }), nodeOf("b", { labels: { zone: "b" } })];
  const step = run({ claims: [claimOf({ storageClass: allowed })], nodes });
  assert.deepEqual([step.do, "node" in step ? step.node : ""], ["select-node", "b"]);
  const waiting = run({ claims: [claimOf({ storageClass: allowed }, { [SELECTED_NODE]: "b" })], nodes });
  assert.equal(waiting.do, "wait");
  const moved = run({ claims: [claimOf({ storageClass: allowed }, { [SELECTED_NODE]: "a" })], nodes });
  assert.equal(moved.do, "unselect-node");
});

test("a chosen node stays chosen although another one is emptier now", () => {
  const nodes = [{ ...nodeOf("a"), pods: 5 }, nodeOf("b")];
  assert.equal(run({ claims: [claimOf({}, { [SELECTED_NODE]: "a" })], nodes }).do, "wait");
});

test("published capacity keeps a claim away from nodes that have no room for it", () => {
  const capacity = (zone: string, maximumVolumeSize: string): CSIStorageCapacity => ({
    apiVersion: "storage.k8s.io/v1",
    kind: "CSIStorageCapacity",
    metadata: { name: zone },
    storageClassName: "later",
    nodeTopology: { matchLabels: { zone } },
    capacity: "100Gi",
    maximumVolumeSize,
  });
  const nodes = [nodeOf("a", { labels: { zone: "a" } }), nodeOf("b", { labels: { zone: "b" } })];
  const view = { claims: [claimOf()], nodes, tracksCapacity: () => true };
  const step = run({ ...view, capacities: [capacity("a", "1Gi"), capacity("b", "3Gi")] });
  assert.equal("node" in step ? step.node : step.do, "b");
  assert.match(
    refusal({ ...view, capacities: [capacity("a", "1Gi"), capacity("b", "1Gi")] }),
    /2 node\(s\) did not have enough free storage\..*enlarge the pool/,
  );
});
