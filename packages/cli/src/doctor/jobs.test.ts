import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ATTACHER_RULES,
  type AttachmentTicket,
  MOORING_API_VERSION,
  ShareManagers,
  type Volume,
  type VolumeAttachment,
  VolumeAttachments,
  type VolumeSpec,
  type VolumeStatus,
  Volumes,
} from "@mooring/engine";
import type { LocalStore } from "@mooring/store";
import { watchedStore } from "../testing/watched-store.ts";
import { objectChecks } from "./object-checks.ts";

const apiVersion = MOORING_API_VERSION;
const OLD = "2026-01-01T00:00:00Z";
const NOW = new Date("2026-01-01T03:00:00Z");
const ASKED = { snapshot: "s" };
const fault = { cause: "filesystem", faultedAt: OLD, message: "bad" } as const;

interface Setup {
  status?: Partial<VolumeStatus>;
  spec?: Partial<VolumeSpec>;
  /** Types of further tickets. */
  others?: AttachmentTicket["type"][];
  /** Since when the ticket has the volume. */
  since?: string;
}

/** What doctor reports of a ticket of a job of the volume itself. */
async function detailsOf(store: LocalStore, type: AttachmentTicket["type"], setup: Setup): Promise<string[]> {
  const { status = {}, spec = {}, others = [], since = "2026-01-01T02:55:00Z" } = setup;
  const name = `v-${type}-${Math.random().toString(36).slice(2)}`;
  const base = { size: 1, pool: "p", volumeMode: "Filesystem" as const, accessMode: "rwo" };
  const made = await store.create(Volumes, {
    ...{ apiVersion, kind: "Volume", metadata: { name }, spec: { ...base, ...spec } },
  } satisfies Volume);
  await store.updateStatus(Volumes, { ...made, status: { state: "attached", size: 1, ...status } });
  const owner = { apiVersion, kind: "Volume", name };
  const ticket = (kind: AttachmentTicket["type"]): AttachmentTicket => ({
    ...{ id: kind, type: kind, nodeID: "a", createdAt: OLD },
    ...(kind === type ? { owner } : {}),
  });
  const tickets = [type, ...others].map(ticket);
  const attachment = await store.create(VolumeAttachments, {
    ...{ apiVersion, kind: "VolumeAttachment", metadata: { name } },
    spec: { volume: name, attachmentTickets: Object.fromEntries(tickets.map((t) => [t.id, t])) },
  } satisfies VolumeAttachment);
  const condition = { type: "Satisfied", status: "True" as const, reason: "Attached", message: "m" };
  const result = { id: type, satisfied: true, conditions: [{ ...condition, lastTransitionTime: since }] };
  await store.updateStatus(VolumeAttachments, {
    ...attachment,
    status: { attachmentTicketStatuses: { [type]: result } },
  });
  const checks = await objectChecks(store, NOW);
  const found = checks.filter((c) => c.check === `Ticket ${name}/${type}` && c.state !== "ok");
  for (const { next = "" } of found) assert.match(next, /mooring (ticket rm|why) /, "with a next step");
  return found.map(({ state, detail }) => `${state}: ${detail.replace(name, "v")}`);
}

const over = (how: string) => [`fail: the job of Volume v ${how}, and its ticket is not`];
const failures = 5;

test("doctor: a ticket whose job is finished is left over, whatever the job; one whose job is due is not", async (t) => {
  const store = await watchedStore(t);
  const cases: readonly [AttachmentTicket["type"], Setup, string[]][] = [
    ["volume-restore-controller", { spec: { restoreFrom: ASKED } }, []],
    [
      "volume-restore-controller",
      { spec: { restoreFrom: ASKED }, status: { restore: { ...ASKED, state: "Restored" } } },
      over("is finished"),
    ],
    [
      "volume-restore-controller",
      { spec: { restoreFrom: ASKED }, status: { restore: { ...ASKED, state: "Failed" } } },
      over("has failed"),
    ],
    ["volume-restore-controller", {}, over("is finished")],
    [
      "salvage-controller",
      { status: { robustness: "faulted", salvage: { ...fault, state: "Faulted" } } },
      [],
    ],
    ["salvage-controller", { status: { salvage: { ...fault, state: "Repaired" } } }, over("is finished")],
    [
      "salvage-controller",
      { status: { robustness: "faulted", salvage: { ...fault, state: "NeedsConsent" } } },
      over("cannot go on by itself"),
    ],
    ["volume-expansion-controller", { status: { expansion: { size: 2 } } }, []],
    [
      "volume-expansion-controller",
      { status: { expansion: { size: 2, failures } } },
      over("was given up after 5 attempts"),
    ],
    ["share-manager-controller", { spec: { accessMode: "rwx" }, others: ["csi-attacher"] }, []],
    [
      "share-manager-controller",
      { spec: { accessMode: "rwx" } },
      over("is finished: no workload uses the volume"),
    ],
    ["share-manager-controller", { others: ["csi-attacher"] }, over("has nothing to serve")],
    ["volume-clone-controller", {}, over("is finished")],
  ];
  for (const [type, setup, wanted] of cases) {
    assert.deepEqual(await detailsOf(store, type, setup), wanted, `${type} ${JSON.stringify(setup)}`);
  }
});

test("doctor: a job that has had its volume for too long is reported, of every type that no workload has", async (t) => {
  const store = await watchedStore(t);
  const due: Partial<Record<AttachmentTicket["type"], Setup>> = {
    "volume-restore-controller": { spec: { restoreFrom: ASKED } },
    "salvage-controller": { status: { robustness: "faulted", salvage: { ...fault, state: "Faulted" } } },
    "volume-expansion-controller": { status: { expansion: { size: 2 } } },
    "share-manager-controller": { spec: { accessMode: "rwx" }, others: ["csi-attacher"] },
    "volume-clone-controller": { status: { size: undefined } as unknown as Partial<VolumeStatus> },
  };
  const slow = ["warn: the job of Volume v has had the volume for more than an hour and is not done"];
  for (const type of Object.keys(ATTACHER_RULES) as AttachmentTicket["type"][]) {
    const setup = { ...due[type], since: OLD };
    assert.deepEqual(await detailsOf(store, type, setup), ATTACHER_RULES[type].workload ? [] : slow, type);
  }
});

test("doctor: what was given up, and a share that fails, are problems with a next step", async (t) => {
  const store = await watchedStore(t);
  const spec = { size: 1, pool: "p", volumeMode: "Filesystem" as const, accessMode: "rwx" };
  const volume = async (name: string, more: Partial<VolumeSpec>, status: Partial<VolumeStatus>) => {
    const made = await store.create(Volumes, {
      ...{ apiVersion, kind: "Volume", metadata: { name }, spec: { ...spec, ...more } },
    } satisfies Volume);
    await store.updateStatus(Volumes, { ...made, status: { state: "detached", size: 1, ...status } });
  };
  const restore = { ...ASKED, state: "Failed" as const, finishedAt: OLD, message: "no snapshot s" };
  await volume("restore", { restoreFrom: ASKED }, { restore });
  await volume("asked-again", { restoreFrom: { ...ASKED, request: "2" } }, { restore });
  await volume("growth", {}, { expansion: { size: 2, failures, message: "resize2fs: no" } });
  await volume("growing", {}, { expansion: { size: 2, failures: 1, message: "resize2fs: no" } });
  const share = await store.create(ShareManagers, {
    ...{ apiVersion, kind: "ShareManager", metadata: { name: "share" }, spec: { nodeID: "a", users: ["b"] } },
  });
  const error = { code: "UNAVAILABLE", message: "no server" };
  await store.updateStatus(ShareManagers, { ...share, status: { state: "error", nodeID: "a", error } });
  const found = (await objectChecks(store, NOW)).filter(({ state }) => state === "fail");
  assert.deepEqual(found.map((entry) => [entry.check, entry.detail]).sort(), [
    ["ShareManager share", "UNAVAILABLE: no server"],
    ["Volume growth", "its file system was not grown to 2 B after 5 attempts: resize2fs: no"],
    ["Volume restore", `was not restored from snapshot s, given up at ${OLD}: no snapshot s`],
  ]);
  for (const { next } of found) assert.ok(next !== undefined);
  assert.equal(found.find(({ check }) => check === "ShareManager share")?.next, "mooring why volume/share");
});
