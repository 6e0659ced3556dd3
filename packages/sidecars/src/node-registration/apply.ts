import { type CSIDriver, CSIDrivers, type CSINode, CSINodes } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { objectKey, patchMetadata } from "../kube/patch.ts";
import type { CsiNodeEntry, RegistrationStep, RegistrationView } from "./decide.ts";

/** Makes the one change of a step. `wanted` is the CSIDriver object where there is none. */
export async function applyRegistration(
  context: SidecarContext,
  step: RegistrationStep,
  { csiNode, node }: RegistrationView,
  wanted: CSIDriver,
): Promise<void> {
  const { store, cluster, events } = context;
  switch (step.do) {
    case "create-csi-driver":
      cluster.csiDrivers.wrote(await store.create(CSIDrivers, wanted));
      return;
    case "update-node": {
      if (node === undefined) return;
      const { annotations, labels } = step;
      // The annotation is shared with the registrars of other drivers: nothing of theirs may be lost.
      // As it is now: of what was decided upon, the version was left out.
      const current = cluster.nodes.get(node.metadata.name) ?? node;
      await patchMetadata(store, cluster.nodes, current, { annotations, labels, checkVersion: true });
      return;
    }
    case "create-csi-node":
      if (node === undefined) return;
      cluster.csiNodes.wrote(await store.create(CSINodes, csiNodeFor(node, step.drivers)));
      return;
    case "update-csi-node": {
      if (csiNode === undefined) return;
      const { resourceVersion, uid } = csiNode.metadata;
      const body = { metadata: { resourceVersion, uid }, spec: { drivers: step.drivers } };
      cluster.csiNodes.wrote(await store.patch(CSINodes, objectKey(csiNode), { type: "merge", body }));
      return;
    }
    case "report":
      if (node !== undefined) events.event(node, "Warning", "TopologyLabelCollision", step.message);
      throw new Error(step.message);
  }
}

function csiNodeFor(node: NonNullable<RegistrationView["node"]>, drivers: CsiNodeEntry[]): CSINode {
  const { name, uid = "" } = node.metadata;
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "CSINode",
    metadata: { name, ownerReferences: [{ apiVersion: "v1", kind: "Node", name, uid }] },
    spec: { drivers },
  };
}
