import { GroupSnapshots } from "@mooring/engine";
import { VolumeGroupRestores } from "@mooring/sidecars";
import {
  PersistentVolumeClaims,
  Pods,
  VolumeGroupSnapshotContents,
  VolumeGroupSnapshots,
} from "@mooring/store";
import * as group from "./group-manifests.ts";
import { NAMESPACE as namespace } from "./manifests.ts";
import { lastAcknowledged, podLog } from "./pod-log.ts";
import { until, untilGone, untilObject } from "./wait.ts";
import { untilRunning, type World } from "./world.ts";

/** Two volumes that only make sense together: copied at one moment while both are written, and both brought back. */
export async function groupPart(world: World): Promise<void> {
  await startShop(world);
  const acknowledged = await snapshotBoth(world);
  prove(world, await restoreBoth(world), acknowledged);
}

const shopLog = ({ store }: World): Promise<number> => lastAcknowledged(store, "shop");

async function startShop(world: World): Promise<void> {
  const { progress, store } = world;
  await progress.step("two claims: an order, then its payment", async () => {
    for (const claim of group.groupClaims) await store.create(PersistentVolumeClaims, claim);
    await store.create(Pods, group.shop);
    await untilRunning(world, "shop");
    const paid = await until("500 paid orders", async () => {
      const last = await shopLog(world);
      return last >= 500 ? last : undefined;
    });
    return { detail: `${paid} orders paid so far`, value: undefined };
  });
}

/** Returns what had been acknowledged before. */
async function snapshotBoth(world: World): Promise<number> {
  const { progress, store } = world;
  return progress.step("group snapshot of both while writing", async () => {
    const before = await shopLog(world);
    await store.create(VolumeGroupSnapshots, group.groupSnapshot);
    const ready = await untilObject(
      store,
      VolumeGroupSnapshots,
      { namespace, name: group.GROUP },
      (item) => item.status?.readyToUse === true,
    );
    const freeze = await freezeOf(world, ready.status?.boundVolumeGroupSnapshotContentName ?? "");
    return { detail: `writers waited ${freeze}; ${before} paid before`, value: before };
  });
}

async function freezeOf({ store }: World, contentName: string): Promise<string> {
  const content = await store.get(VolumeGroupSnapshotContents, { name: contentName });
  const name = content.status?.volumeGroupSnapshotHandle ?? "";
  const { status } = await store.get(GroupSnapshots, { name });
  return `${Math.ceil(status?.barrier?.pauseMilliseconds ?? 0)} ms (${status?.barrier?.method})`;
}

interface Audit {
  integrity: string;
  orders: number;
  payments: number;
  lastPayment: number;
  unordered: number;
  unpaid: number;
}

async function restoreBoth(world: World): Promise<Audit> {
  const { progress, store } = world;
  return progress.step("group restore, audit of both in one Pod", async () => {
    await store.create(VolumeGroupRestores, group.groupRestore);
    const key = { namespace, name: group.RESTORE };
    await untilObject(store, VolumeGroupRestores, key, ({ status }) => {
      if (status?.phase === "Failed") throw new Error(status.message);
      return status?.phase === "Complete" || status?.phase === "Ready";
    });
    await store.create(Pods, group.groupAuditor);
    await untilObject(store, Pods, { namespace, name: "group-auditor" }, ({ status }) =>
      ["Succeeded", "Failed"].includes(status?.phase ?? ""),
    );
    const log = await podLog(store, "group-auditor");
    const json = log.split("\n").find((line) => line.startsWith("{"));
    if (json === undefined) throw new Error(`the auditor printed: ${log}`);
    const audit: Audit = JSON.parse(json);
    return { detail: `${audit.orders} orders, ${audit.payments} payments`, value: audit };
  });
}

function prove({ progress }: World, audit: Audit, acknowledged: number): void {
  progress.prove("both databases of the group are intact", audit.integrity === "ok, ok", audit.integrity);
  progress.prove(
    "the group is of one moment",
    audit.unordered === 0 && audit.unpaid <= 1,
    `${audit.unordered} payments without order, ${audit.unpaid} orders to be paid`,
  );
  progress.prove(
    "the group lost nothing acknowledged",
    audit.lastPayment >= acknowledged,
    `${acknowledged} acknowledged, ${audit.lastPayment} restored`,
  );
}

/** Everything that this part made. */
export async function cleanUpGroup({ store }: World): Promise<void> {
  for (const name of ["group-auditor", "shop"]) await store.delete(Pods, { namespace, name });
  for (const name of ["group-auditor", "shop"]) await untilGone(store, Pods, { namespace, name });
  await store.delete(VolumeGroupRestores, { namespace, name: group.RESTORE });
  await store.delete(VolumeGroupSnapshots, { namespace, name: group.GROUP });
  for (const name of [...group.restoredClaims, group.ORDERS, group.PAYMENTS])
    await store.delete(PersistentVolumeClaims, { namespace, name });
}
