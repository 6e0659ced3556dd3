import assert from "node:assert/strict";
import { test } from "node:test";
import { apiVersionOf, type Lease, Leases, type LocalStore, mutate, waitFor } from "@mooring/store";
import { everyday, thorough } from "@mooring/store/testing";
import { VolumeAttachments } from "../../../api/attachment.ts";
import { LEASE_NAMESPACE } from "../../../api/names.ts";
import { type NodeAgent, NodeAgents } from "../../../api/node-agent.ts";
import { Snapshots } from "../../../api/snapshot.ts";
import { type Volume, Volumes } from "../../../api/volume.ts";
import { snapshotObject, until, volumeObject } from "../../../testing/agent.ts";
import { reportNode } from "../../../testing/report-node.ts";
import { twoNodes } from "../../../testing/two-nodes.ts";
import { addTicket, removeTickets } from "../../../tickets/tickets.ts";

const detached = (store: LocalStore, name: string) =>
  until(store, Volumes, name, (v) => v.status?.state === "detached" && (v.spec.nodeID ?? "") === "");

test(
  "in a shared pool a volume that nobody has is attached and copied on some node, one in use where it is",
  everyday(),
  async (t) => {
    const { store } = await twoNodes(t);
    await store.create(Volumes, volumeObject("v-p-1"));
    await detached(store, "v-p-1");
    await store.create(Snapshots, snapshotObject("s-p-1", "v-p-1"));
    await until(store, Snapshots, "s-p-1", (s) => s.status?.readyToUse === true);
    await until(
      store,
      VolumeAttachments,
      "v-p-1",
      (a) => Object.keys(a.spec.attachmentTickets ?? {}).length === 0,
    );
    await detached(store, "v-p-1");

    await addTicket(store, "v-p-1", { id: "w", type: "csi-attacher", nodeID: "node-2" }, { now: new Date() });
    await until(store, Volumes, "v-p-1", (v) => v.status?.state === "attached");
    await store.create(Snapshots, snapshotObject("s-p-2", "v-p-1"));
    const source = { kind: "Volume" as const, name: "v-p-1" };
    await store.create(Volumes, volumeObject("v-p-2", { source }));
    const made = await until(store, Snapshots, "s-p-2", (s) => s.status?.readyToUse === true);
    assert.equal(made.status?.ownerID, "node-2");
    await until(store, Volumes, "v-p-2", (v) => v.status?.size !== undefined);
    const kept = await until(store, Volumes, "v-p-1", (v) => v.status?.state === "attached");
    assert.equal(kept.status?.currentNodeID, "node-2");
    await removeTickets(store, "v-p-1", ({ id }) => id === "w");
    await detached(store, "v-p-1");
  },
);

test(
  "10874: a job that had the volume follows it to the node where a workload has taken it",
  thorough(),
  async (t) => {
    const { store } = await twoNodes(t);
    await store.create(Volumes, volumeObject("v-p-1"));
    await detached(store, "v-p-1");
    // Many at once, so that some are still to be made when the workload comes.
    const names = Array.from({ length: 12 }, (_, n) => `s-p-${n}`);
    for (const name of names) await store.create(Snapshots, snapshotObject(name, "v-p-1"));
    await until(store, Volumes, "v-p-1", (v) => v.status?.state === "attached");
    await addTicket(store, "v-p-1", { id: "w", type: "csi-attacher", nodeID: "node-2" }, { now: new Date() });
    await until(store, Volumes, "v-p-1", (v) => v.status?.currentNodeID === "node-2");
    for (const name of names) await until(store, Snapshots, name, (s) => s.status?.readyToUse === true);
    await until(
      store,
      VolumeAttachments,
      "v-p-1",
      (a) => Object.keys(a.spec.attachmentTickets ?? {}).join() === "w",
    );
    await removeTickets(store, "v-p-1", ({ id }) => id === "w");
    await detached(store, "v-p-1");
  },
);

test(
  "a volume that nobody has is copied on a ready node when the last one that had it is lost",
  everyday(),
  async (t) => {
    const { store } = await twoNodes(t);
    await store.create(Volumes, volumeObject("v-p-1"));
    await detached(store, "v-p-1");
    const lease = { namespace: LEASE_NAMESPACE, name: "mooring-image-v-p-1" };
    const free = (found: Lease | undefined) => found?.spec?.holderIdentity === "";
    await waitFor(store, { resource: Leases, key: lease }, free, AbortSignal.timeout(60_000));
    // A node that died between closing the volume and recording it.
    const lost = { apiVersion: apiVersionOf(NodeAgents), kind: NodeAgents.kind, metadata: { name: "lost" } };
    await store.create(NodeAgents, { ...lost, spec: {} });
    await mutate(
      store,
      NodeAgents,
      { name: "lost" },
      { change: reportNode("Fenced"), subresource: "status" },
    );
    const leave = (volume: Volume): void => {
      if (volume.status !== undefined) volume.status.ownerID = "lost";
    };
    await mutate(store, Volumes, { name: "v-p-1" }, { change: leave, subresource: "status" });
    await store.create(Snapshots, snapshotObject("s-p-1", "v-p-1"));
    const made = await until(store, Snapshots, "s-p-1", (s) => s.status?.readyToUse === true);
    assert.match(made.status?.ownerID ?? "", /^node-[12]$/);
    await detached(store, "v-p-1");
  },
);

test(
  "a volume that nobody has is copied as soon as a node is ready, when none was",
  thorough(),
  async (t) => {
    const { store } = await twoNodes(t);
    await store.create(Volumes, volumeObject("v-p-1"));
    await detached(store, "v-p-1");
    const silence = (agent: NodeAgent): void => {
      agent.status = { ...agent.status, state: "Suspect" };
    };
    for (const name of ["node-1", "node-2"]) {
      await mutate(store, NodeAgents, { name }, { change: silence, subresource: "status" });
    }
    await store.create(Snapshots, snapshotObject("s-p-1", "v-p-1"));
    // Their own signs of life make them ready again.
    const made = await until(store, Snapshots, "s-p-1", (s) => s.status?.readyToUse === true);
    assert.match(made.status?.ownerID ?? "", /^node-[12]$/);
  },
);
