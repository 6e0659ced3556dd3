import assert from "node:assert/strict";
import { test } from "node:test";
import {
  CSINodes,
  KubeVolumeAttachments,
  Nodes,
  PersistentVolumeClaims,
  type ReconcileCounts,
  type Resource,
  reconcileCounts,
} from "@mooring/store";
import { nothingSleeps } from "@mooring/store/testing";
import { startHarness } from "./testing/harness.ts";
import { claim, csiNode, DRIVER, node } from "./testing/objects.ts";

/** Controllers that have taken up a key since. */
function working(before: ReadonlyMap<string, number>): string[] {
  return [...reconcileCounts()]
    .filter(([name, { reconciled }]) => reconciled > (before.get(name) ?? 0))
    .map(([name]) => name)
    .sort();
}

const counts = (): Map<string, number> =>
  new Map(
    [...reconcileCounts()].map(([name, { reconciled }]: [string, ReconcileCounts]) => [name, reconciled]),
  );

test("of the controllers only those take up a claim, its volume and its attachment that have something to do", async (t) => {
  const h = await startHarness(t, {
    driver: { nodeId: "n0", can: ["CREATE_DELETE_VOLUME", "PUBLISH_UNPUBLISH_VOLUME", "EXPAND_VOLUME"] },
    objects: [
      [Nodes as Resource, node("n0")],
      [CSINodes as Resource, csiNode("n0", [])],
    ],
  });
  await nothingSleeps();
  const start = counts();
  await h.store.create(PersistentVolumeClaims, claim("data", {}, { annotations: {} }));
  const bound = await h.until("the claim is bound", async () => {
    const found = await h.find(PersistentVolumeClaims, "data", "default");
    return found?.status?.phase === "Bound" ? found : undefined;
  });
  await nothingSleeps();
  assert.deepEqual(working(start), ["provision"], "nothing is to be grown, deleted or protected");

  const made = counts();
  await h.store.create(KubeVolumeAttachments, {
    apiVersion: "storage.k8s.io/v1",
    kind: "VolumeAttachment",
    metadata: { name: "there" },
    spec: {
      attacher: DRIVER,
      nodeName: "n0",
      source: { persistentVolumeName: bound?.spec?.volumeName ?? "" },
    },
  });
  await h.until(
    "it is attached",
    async () => (await h.find(KubeVolumeAttachments, "there"))?.status?.attached === true,
  );
  await h.store.delete(KubeVolumeAttachments, { name: "there" });
  await h.until("it is detached", async () => (await h.find(KubeVolumeAttachments, "there")) === undefined);
  await nothingSleeps();
  assert.deepEqual(working(made), ["attach"]);
});
