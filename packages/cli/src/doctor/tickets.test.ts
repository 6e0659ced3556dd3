import assert from "node:assert/strict";
import { test } from "node:test";
import { Snapshots, type VolumeAttachment, VolumeAttachments, Volumes } from "@mooring/engine";
import { watchedStore } from "../testing/watched-store.ts";
import { objectChecks } from "./object-checks.ts";

test("doctor names a ticket that has waited for long, and not one that has just come or is satisfied", async (t) => {
  const store = await watchedStore(t);
  const spec = { size: 1, pool: "p", volumeMode: "Block" as const, accessMode: "rwo" };
  const apiVersion = "storage.mooring.dev/v1alpha1";
  await store.create(Volumes, { apiVersion, kind: "Volume", metadata: { name: "v" }, spec });
  const made = await store.create(VolumeAttachments, {
    ...{ apiVersion, kind: "VolumeAttachment", metadata: { name: "v" } },
    spec: { volume: "v" },
  } satisfies VolumeAttachment);
  const statusOf = (id: string, satisfied: boolean, lastTransitionTime: string) => {
    const status = satisfied ? ("True" as const) : ("False" as const);
    const condition = {
      type: "Satisfied",
      status,
      reason: "R",
      message: "held by ann",
      lastTransitionTime,
    };
    return { id, satisfied, conditions: [condition] };
  };
  const old = "2026-01-01T00:00:00Z";
  const statuses = [
    statusOf("forgotten", false, old),
    statusOf("new", false, "2026-01-01T00:58:00Z"),
    statusOf("has", true, old),
  ];
  const attachmentTicketStatuses = Object.fromEntries(statuses.map((status) => [status.id, status]));
  await store.updateStatus(VolumeAttachments, { ...made, status: { attachmentTicketStatuses } });
  const checks = await objectChecks(store, new Date("2026-01-01T01:00:00Z"));
  const warned = checks.filter(({ state }) => state === "warn");
  assert.deepEqual(
    warned.map((entry) => entry.check),
    ["Ticket v/forgotten"],
  );
  assert.match(warned[0]?.detail ?? "", /since 2026-01-01T00:00:00Z: held by ann/);
  assert.equal(warned[0]?.next, "mooring why volume/v");
});

test("doctor names tickets whose owner is gone or whose job is finished, and an operator's that was forgotten", async (t) => {
  const store = await watchedStore(t);
  const apiVersion = "storage.mooring.dev/v1alpha1";
  const now = new Date("2026-01-03T00:00:00Z");
  const old = "2026-01-01T00:00:00Z";
  const snapshot = await store.create(Snapshots, {
    ...{ apiVersion, kind: "Snapshot", metadata: { name: "snap" }, spec: { volume: "v", pool: "p" } },
  });
  await store.updateStatus(Snapshots, { ...snapshot, status: { readyToUse: true, creationTime: old } });
  await store.create(Snapshots, { ...snapshot, metadata: { name: "coming" } });
  await store.create(Volumes, {
    ...{ apiVersion, kind: "Volume", metadata: { name: "v" } },
    spec: { size: 1, pool: "p", volumeMode: "Block", accessMode: "rwo" },
  });
  const owner = (name: string) => ({ owner: { apiVersion, kind: "Snapshot", name } });
  const job = (id: string, more: object) => ({
    id,
    type: "snapshot-controller",
    nodeID: "a",
    createdAt: old,
    ...more,
  });
  const operatorTicket = (id: string, more: object = {}) => ({
    ...{ id, type: "longhorn-api", nodeID: "a", createdAt: old, parameters: { lastAttachedBy: "ann" } },
    ...more,
  });
  const tickets = [
    job("without-owner", owner("lost")),
    job("over", owner("snap")),
    job("at-work", owner("coming")),
    job("just-over", { ...owner("snap"), createdAt: "2026-01-02T23:59:00Z" }),
    operatorTicket("forgotten"),
    operatorTicket("with-end", { expiresAt: "2026-02-01T00:00:00Z" }),
    operatorTicket("new", { createdAt: "2026-01-02T20:00:00Z" }),
  ];
  const made = await store.create(VolumeAttachments, {
    ...{ apiVersion, kind: "VolumeAttachment", metadata: { name: "v" } },
    spec: { volume: "v", attachmentTickets: Object.fromEntries(tickets.map((t) => [t.id, t])) },
  } as VolumeAttachment);
  const satisfiedStatus = ({ id }: { id: string }) => [id, { id, satisfied: true, conditions: [] }];
  const status = { attachmentTicketStatuses: Object.fromEntries(tickets.map(satisfiedStatus)) };
  await store.updateStatus(VolumeAttachments, { ...made, status });
  const found = (await objectChecks(store, now))
    .filter((entry) => entry.check.startsWith("Ticket "))
    .sort((a, b) => (a.check < b.check ? -1 : 1));
  assert.deepEqual(
    found.map((entry) => [entry.check, entry.state, entry.detail]),
    [
      ["Ticket v/forgotten", "warn", `ann has held the volume since ${old}, with no end`],
      ["Ticket v/over", "fail", "the job of Snapshot snap is finished, and its ticket is not"],
      ["Ticket v/without-owner", "fail", "its owner Snapshot lost is gone, and the ticket is not"],
    ],
  );
  assert.match(found[0]?.next ?? "", /mooring ticket rm v forgotten$/);
});
