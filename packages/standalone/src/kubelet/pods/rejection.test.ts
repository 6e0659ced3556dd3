import assert from "node:assert/strict";
import { test } from "node:test";
import { defined, type Node, type Pod } from "@mooring/store";
import { rejectionOf } from "./rejection.ts";

const node = {
  apiVersion: "v1",
  kind: "Node",
  metadata: { name: "n" },
  status: { allocatable: { cpu: "2", memory: "1Gi", pods: "3" } },
} as Node;

interface Wanted {
  at: number;
  cpu?: string;
  memory?: string;
  port?: number;
  phase?: string;
  begun?: boolean;
}

function pod(uid: string, { at, cpu = "0", memory = "0", port, phase, begun = false }: Wanted): Pod {
  const ports = port === undefined ? [] : [{ containerPort: port, hostPort: port }];
  return {
    ...{ apiVersion: "v1", kind: "Pod" },
    metadata: { name: uid, uid, creationTimestamp: `2026-01-01T00:00:0${at}Z` },
    spec: { containers: [{ name: "main", image: "host", ports, resources: { requests: { cpu, memory } } }] },
    status: defined({ phase, startTime: begun ? "2026-01-01T00:00:09Z" : undefined }),
  } as Pod;
}

const hasBegun = ({ status }: Pod) => status?.startTime !== undefined;
const rejection = (own: Pod, ...others: Pod[]) =>
  rejectionOf(own, { here: [own, ...others], node, hasBegun });

test("a pod for which the node has too little is rejected with the words of Kubernetes", () => {
  assert.deepEqual(rejection(pod("a", { at: 1, cpu: "3" })), {
    reason: "OutOfcpu",
    message:
      "Pod was rejected: Node didn't have enough resource: cpu, requested: 3000, used: 0, capacity: 2000",
  });
  const used = pod("b", { at: 2, memory: "1Gi", begun: true });
  assert.deepEqual(rejection(pod("a", { at: 1, memory: "1" }), used), {
    reason: "OutOfmemory",
    message:
      "Pod was rejected: Node didn't have enough resource: memory, requested: 1, used: 1073741824, capacity: 1073741824",
  });
  assert.equal(
    rejection(pod("a", { at: 1, port: 80 }), pod("b", { at: 2, port: 80, begun: true }))?.reason,
    "NodePorts",
  );
  const three = [1, 2, 3].map((at) => pod(`b${at}`, { at, begun: true }));
  assert.equal(rejection(pod("a", { at: 1 }), ...three)?.reason, "OutOfpods");
});

test("pods come in the order in which they were made, and one that is rejected or has ended takes no room", () => {
  const [first, second] = [pod("a", { at: 1, cpu: "1500m" }), pod("b", { at: 2, cpu: "1500m" })];
  assert.equal(rejection(first, second), undefined);
  assert.equal(rejection(second, first)?.reason, "OutOfcpu");
  const huge = pod("0", { at: 0, cpu: "1000" });
  assert.equal(rejection(first, huge, second), undefined);
  assert.equal(rejection(first, pod("c", { at: 0, cpu: "2", phase: "Succeeded", begun: true })), undefined);
});
