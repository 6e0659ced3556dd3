import assert from "node:assert/strict";
import { test } from "node:test";
import { type VolumeAttachment, VolumeAttachments, Volumes } from "@mooring/engine";
import { watchedStore } from "../testing/watched-store.ts";
import { explainVolume } from "../why/explain-volume.ts";
import { causes } from "../why/finding.ts";
import { contextOf } from "../why/kinds.ts";
import { objectChecks } from "./object-checks.ts";

const apiVersion = "storage.mooring.dev/v1alpha1";
const ASKED = "2026-01-01T00:00:10Z";

test("doctor and why name the nodes that have a volume mounted as it was before, for as long as they have", async (t) => {
  const store = await watchedStore(t);
  const spec = { size: 1, pool: "p", volumeMode: "Filesystem" as const, accessMode: "rwx" };
  const made = await store.create(Volumes, { apiVersion, kind: "Volume", metadata: { name: "v" }, spec });
  const status = { state: "attached" as const, remountRequestedAt: ASKED };
  const asking = await store.updateStatus(Volumes, { ...made, status });
  const tickets = [
    { id: "before", type: "csi-attacher", nodeID: "node-a", createdAt: "2026-01-01T00:00:00Z" },
    { id: "after", type: "csi-attacher", nodeID: "node-b", createdAt: "2026-01-01T00:00:20Z" },
  ];
  await store.create(VolumeAttachments, {
    ...{ apiVersion, kind: "VolumeAttachment", metadata: { name: "v" } },
    spec: { volume: "v", attachmentTickets: Object.fromEntries(tickets.map((t) => [t.id, t])) },
  } as VolumeAttachment);
  const doctor = async () =>
    (await objectChecks(store, new Date(ASKED))).filter((c) => c.check === "Volume v");
  const why = async () =>
    causes(await explainVolume(contextOf(store), "v")).filter(({ subject }) => subject.startsWith("remount"));
  const [warned] = await doctor();
  assert.equal(warned?.state, "warn");
  assert.match(warned?.detail ?? "", /again on node-a: its mounts from before 2026-01-01T00:00:10Z/);
  assert.match(warned?.next ?? "", /mooring why volume\/v/);
  const [cause, ...more] = await why();
  assert.deepEqual(more, []);
  assert.match(cause?.subject ?? "", /remount on node node-a \(ticket before, csi-attacher\)/);
  assert.match(cause?.next ?? "", /start the pods again that use the volume on node node-a/);
  await store.updateStatus(Volumes, { ...asking, status: { ...status, remounted: { "node-a": ASKED } } });
  assert.deepEqual([await doctor(), await why()], [[], []]);
});
