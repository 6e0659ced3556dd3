import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { NodeAgents, Pools, TOPOLOGY_NODE_KEY } from "@mooring/engine";
import {
  CSINodes,
  Nodes as KubeNodes,
  PersistentVolumeClaims,
  PersistentVolumes,
  Pods,
} from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { claim, pod } from "../support/manifests.ts";
import { Nodes } from "./support/world.ts";

const NAMESPACE = "default";

describe("a node that joins over the network", () => {
  let nodes: Nodes;
  after(() => nodes?.dispose());
  before(async () => {
    nodes = await Nodes.create({
      nodes: ["b"],
      nodeArgs: ["--pool-size", "2Gi", "--labels", "row=second", "--taints", "edge=yes:PreferNoSchedule"],
    });
  });

  test("reports who it is: Node, CSINode, NodeAgent and a pool of its own", async () => {
    const store = await nodes.store();
    const node = await store.get(KubeNodes, { name: "b" });
    assert.equal(node.metadata.labels?.row, "second");
    assert.deepEqual(node.spec?.taints, [{ key: "edge", value: "yes", effect: "PreferNoSchedule" }]);
    // The registrar works beside the rest.
    const csiNode = await eventually("a CSINode", () =>
      store.get(CSINodes, { name: "b" }).catch(() => undefined),
    );
    assert.equal(csiNode.spec?.drivers[0]?.nodeID, "b");
    const labelled = await store.get(KubeNodes, { name: "b" });
    assert.equal(labelled.metadata.labels?.[TOPOLOGY_NODE_KEY], "b");
    assert.equal((await store.get(NodeAgents, { name: "b" })).status?.state, "Ready");
    assert.equal((await store.get(Pools, { name: "default-b" })).spec.nodeID, "b");
  });

  test("a pod that runs there gets a volume there, and its next pod finds the data there", async () => {
    const { kubectl } = nodes;
    const store = await nodes.store();
    await kubectl.apply(LATE_CLASS);
    await store.create(PersistentVolumeClaims, claim(NAMESPACE, "notes", { className: "late" }));
    const writer = pod(NAMESPACE, "writer", "echo from-b > /data/f; sync /data/f", {
      mounts: { "/data": "notes" },
    });
    await store.create(Pods, {
      ...writer,
      spec: { ...writer.spec, nodeSelector: { "kubernetes.io/hostname": "b" } },
    } as typeof writer);
    await succeeded("writer");
    const bound = await store.get(PersistentVolumeClaims, { namespace: NAMESPACE, name: "notes" });
    const volume = await store.get(PersistentVolumes, { name: bound.spec?.volumeName ?? "" });
    assert.match(JSON.stringify(volume.spec?.nodeAffinity), /"b"/);
    // Nothing chooses where: the data does.
    await store.create(
      Pods,
      pod(NAMESPACE, "reader", "grep from-b /data/f", { mounts: { "/data": "notes" } }),
    );
    await succeeded("reader");
    const ran = await store.get(Pods, { namespace: NAMESPACE, name: "reader" });
    assert.equal(ran.spec?.nodeName, "b");
  });

  test("a volume of its pool cannot be published to another node, and the error says why", async () => {
    const store = await nodes.store();
    const bound = await store.get(PersistentVolumeClaims, { namespace: NAMESPACE, name: "notes" });
    const volume = await store.get(PersistentVolumes, { name: bound.spec?.volumeName ?? "" });
    const volumeId = volume.spec?.csi?.volumeHandle ?? "";
    const { kubectl } = nodes;
    await kubectl.run(
      "patch",
      "volumeattachments.storage.mooring.dev",
      volumeId,
      "--type=merge",
      "-p",
      ASK_FOR_HUB,
    );
    const reported = await eventually("a result", async () => {
      const path = "jsonpath={.status.attachmentTicketStatuses.asked.conditions[0].message}";
      const log = await kubectl.run("get", "volumeattachments.storage.mooring.dev", volumeId, "-o", path);
      return log === "" ? undefined : log;
    });
    assert.equal(reported, `the volume's data is on node "b"`);
  });

  async function succeeded(name: string): Promise<void> {
    const store = await nodes.store();
    await eventually(
      `pod ${name} to succeed; b printed:\n${nodes.machine("b").output.slice(-3000)}`,
      async () => {
        const { status } = await store.get(Pods, { namespace: NAMESPACE, name });
        assert.notEqual(status?.phase, "Failed");
        return status?.phase === "Succeeded";
      },
    );
  }
});

const ASK_FOR_HUB = JSON.stringify({
  spec: {
    attachmentTickets: {
      asked: { id: "asked", type: "longhorn-api", nodeID: "hub", parameters: { lastAttachedBy: "ann" } },
    },
  },
});

const LATE_CLASS = JSON.stringify({
  apiVersion: "storage.k8s.io/v1",
  kind: "StorageClass",
  metadata: { name: "late" },
  provisioner: "csi.mooring.dev",
  volumeBindingMode: "WaitForFirstConsumer",
});
