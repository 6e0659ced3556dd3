import assert from "node:assert/strict";
import { test } from "node:test";
import type { CSINode, Node } from "@mooring/store";
import { covers } from "@mooring/store/testing";
import { accessibilityFor, type TopologyInput } from "./requirement.ts";
import { nodeAffinity, spreadingOffset } from "./terms.ts";

const DRIVER = "d.example.com";
const node = (name: string, labels: Record<string, string>): Node => ({
  apiVersion: "v1",
  kind: "Node",
  metadata: { name, labels },
});
const csiNode = (name: string, topologyKeys: string[]): CSINode => ({
  apiVersion: "storage.k8s.io/v1",
  kind: "CSINode",
  metadata: { name },
  spec: { drivers: [{ name: DRIVER, nodeID: name, topologyKeys }] },
});
const zones = ["b", "a", "c"];
const input: TopologyInput = {
  driver: DRIVER,
  claimName: "data-web-0",
  allowed: [],
  nodes: zones.map((zone) => node(`n-${zone}`, { zone })),
  csiNodes: zones.map((zone) => csiNode(`n-${zone}`, ["zone"])),
  strict: false,
  immediate: true,
};
const ask = (changes: Partial<TopologyInput>) => {
  const result = accessibilityFor({ ...input, ...changes });
  if (!("accessibilityRequirements" in result)) return result;
  const text = (terms: readonly Record<string, string>[]) =>
    terms.map((t) => Object.values(t).join("/")).join();
  const { accessibilityRequirements: requirement } = result;
  return requirement && `${text(requirement.requisite)} ${text(requirement.preferred)}`;
};

test("the selected node's place is preferred first, the others follow in a circle", () => {
  covers("K8S-028", "CSI-104", "CSI-111");
  assert.equal(ask({ selectedNode: "n-b" }), "a,b,c b,c,a");
});

test("strict: only the selected node's place, and it must be allowed", () => {
  assert.equal(ask({ selectedNode: "n-c", strict: true }), "c c");
  const allowed = [{ matchLabelExpressions: [{ key: "zone", values: ["a", "b"] }] }];
  assert.match(JSON.stringify(ask({ selectedNode: "n-c", strict: true, allowed })), /not in the class's/);
  assert.equal(ask({ selectedNode: "n-b", strict: true, allowed }), "b b");
});

test("allowedTopologies become the requisite terms, every combination one term", () => {
  covers("K8S-029");
  const allowed = [
    {
      matchLabelExpressions: [
        { key: "zone", values: ["b", "a"] },
        { key: "rack", values: ["1", "2"] },
      ],
    },
  ];
  assert.match(String(ask({ allowed })), /^1\/a,1\/b,2\/a,2\/b /);
  const one = [{ matchLabelExpressions: [{ key: "zone", values: ["c", "b"] }] }];
  assert.equal(ask({ allowed: one, selectedNode: "n-c" }), "b,c c,b");
  assert.match(JSON.stringify(ask({ allowed: one, selectedNode: "n-a" })), /not in requisite/);
});

test("a node that vanished leads to another choice, missing keys and labels are errors", () => {
  assert.ok("lost" in Object(ask({ selectedNode: "gone" })));
  assert.ok("lost" in Object(ask({ selectedNode: "n-a", csiNodes: [] })));
  assert.match(
    JSON.stringify(ask({ selectedNode: "n-a", csiNodes: [csiNode("n-a", [])] })),
    /no topology keys/,
  );
  assert.match(JSON.stringify(ask({ selectedNode: "n-a", nodes: [node("n-a", {})] })), /lacks labels/);
});

test("immediate binding spreads replicas and keeps claims of one replica together", () => {
  const preferred = (claimName: string) => String(ask({ claimName })).split(" ")[1];
  assert.equal(preferred("data-web-0"), preferred("log-web-0"));
  const first = ["data-web-0", "data-web-1", "data-web-2"].map((name) => preferred(name)?.[0]);
  assert.deepEqual([...first].sort(), ["a", "b", "c"]);
  assert.equal(spreadingOffset("data-web-3"), spreadingOffset("web-0") + 3);
});

test("immediate binding without keys anywhere", () => {
  assert.match(JSON.stringify(ask({ csiNodes: [] })), /no available topology found/);
  assert.equal(ask({ csiNodes: [], immediate: false }), undefined);
});

test("nodes with other keys are left out of the sum", () => {
  const csiNodes = [csiNode("n-a", ["zone"]), csiNode("n-b", ["zone"]), csiNode("n-c", ["rack"])];
  assert.equal(ask({ csiNodes, selectedNode: "n-a" }), "a,b a,b");
  assert.match(String(ask({ csiNodes })), /^a,b /);
});

test("accessible topology becomes node affinity: terms are alternatives, all keys must match", () => {
  covers("K8S-031");
  assert.deepEqual(nodeAffinity([{ zone: "a", rack: "1" }, { zone: "b" }]), {
    required: {
      nodeSelectorTerms: [
        {
          matchExpressions: [
            { key: "rack", operator: "In", values: ["1"] },
            { key: "zone", operator: "In", values: ["a"] },
          ],
        },
        { matchExpressions: [{ key: "zone", operator: "In", values: ["b"] }] },
      ],
    },
  });
  assert.equal(nodeAffinity([]), undefined);
});
