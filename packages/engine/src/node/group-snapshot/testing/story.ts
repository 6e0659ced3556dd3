import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  isAlreadyExists,
  isNotFound,
  mutate,
  type ObjectStore,
  type Resource,
  waitFor,
} from "@mooring/store";
import { type GroupSnapshot, GroupSnapshots } from "../../../api/group-snapshot.ts";
import { MOORING_API_VERSION } from "../../../api/names.ts";
import { type LocalPoolType, Pools } from "../../../api/pool.ts";
import { Snapshots } from "../../../api/snapshot.ts";
import { Volumes } from "../../../api/volume.ts";
import { makeFilesystem } from "../../../host/filesystems.ts";
import type { Host } from "../../../host/host.ts";
import { poolLayout } from "../../../pools/layout.ts";
import { NODE, POOL, until, volumeObject } from "../../../testing/agent.ts";
import { addTicket, removeTickets } from "../../../tickets/tickets.ts";
import { writeInPieces } from "./in-pieces.ts";

export interface GroupStage {
  store: ObjectStore;
  host: Host;
  /** Mounts are made below its folder `mounts`. */
  dir: string;
  /** Type of the pool; default `xfs`. */
  type?: string;
}

export const MOUNTED: readonly string[] = ["v-p-1", "v-p-2"];
/** There while the story itself keeps the last of them frozen, as another program might. */
export const FROZEN_BY_OTHERS = "frozen-by-others";
const MEMBERS: readonly string[] = [...MOUNTED, "v-p-3"];
/** Room for a busy machine: a barrier that is late fails for good. Whose life is killed lets its writers go on before. */
const DEADLINE_SECONDS = 60;

export function groupObject(
  name: string,
  volumes: readonly string[],
  { pool = POOL, ...more }: { pool?: string; deadlineSeconds?: number } = {},
): GroupSnapshot {
  const members = volumes.map((volume) => ({ volume, snapshot: `s-${name}-${volume.slice(2)}`, pool }));
  return {
    apiVersion: MOORING_API_VERSION,
    kind: "GroupSnapshot",
    metadata: { name },
    spec: { members, ...more },
  };
}

/** Attaches a volume for a workload, formats it once and mounts it; every step may have been done before. */
export async function mountVolume(
  { store, host, dir }: GroupStage,
  name: string,
  node = NODE,
): Promise<string> {
  await addTicket(store, name, { id: "csi-w", type: "csi-attacher", nodeID: node }, { now: new Date() });
  const volume = await until(
    store,
    Volumes,
    name,
    (v) => v.status?.device !== undefined && v.status.frontendDisabled === false,
  );
  const { device = "", formatted } = volume.status ?? {};
  await makeFilesystem(host.exec, { device, type: "ext4", formatted });
  await mutate(
    store,
    Volumes,
    { name },
    {
      change: (v) => {
        if (v.status !== undefined) v.status.formatted = "ext4";
      },
      subresource: "status",
    },
  );
  const target = join(dir, "mounts", name);
  await mkdir(target, { recursive: true });
  await host.mounts.mount({ source: device, target, fsType: "ext4" });
  return target;
}

export async function unmountVolume({ store, host, dir }: GroupStage, name: string): Promise<void> {
  await host.mounts.unmount(join(dir, "mounts", name));
  await removeTickets(store, name, ({ id }) => id === "csi-w");
  await until(store, Volumes, name, (v) => v.status?.state === "detached");
}

export async function gone(store: ObjectStore, resource: Resource, name: string): Promise<void> {
  await store.delete(resource, { name }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
  await waitFor(store, { resource, key: { name } }, (o) => o === undefined, AbortSignal.timeout(60_000));
}

/** Before the volume has a file system. */
async function inPieces({ dir, type = "xfs" }: GroupStage, name: string): Promise<void> {
  const layout = poolLayout(type as LocalPoolType, join(dir, "state", "pools", POOL));
  await writeInPieces(join(layout.images, `${name}.img`));
}

/** The image of a member is away for a while. */
async function damaged({ store, dir, type = "xfs" }: GroupStage, name: string): Promise<void> {
  const { images } = poolLayout(type as LocalPoolType, join(dir, "state", "pools", POOL));
  const { spec } = await store.get(GroupSnapshots, { name });
  const snapshot = spec.members[0]?.snapshot ?? "";
  const image = join(images, `${snapshot}.img`);
  const aside = join(dirname(images), "aside.img");
  const reads = async (readyToUse: boolean) => {
    await mutate(store, Snapshots, { name: snapshot }, ({ metadata }) => {
      metadata.annotations = { ...metadata.annotations, touched: `${Date.now()}` };
    });
    await until(store, GroupSnapshots, name, ({ status }) => status?.readyToUse === readyToUse);
  };
  if (!existsSync(aside)) await rename(image, aside);
  await reads(false);
  await rename(aside, image);
  await reads(true);
}

const made = (error: unknown): void => {
  if (!isAlreadyExists(error)) throw error;
};

/** A group's whole life; every phase can be done again from its start. */
export function groupStory(stage: GroupStage): (() => Promise<unknown>)[] {
  const { store, host, dir } = stage;
  const mount = (name: string): string => join(dir, "mounts", name);
  const inState = (name: string, state: string): Promise<GroupSnapshot> =>
    until(store, GroupSnapshots, name, (group) => group.status?.state === state);
  return [
    async () => {
      for (const name of MEMBERS) await store.create(Volumes, volumeObject(name)).catch(made);
      for (const name of MEMBERS) await until(store, Volumes, name, (v) => v.status?.size !== undefined);
      // The kernel fills the first one by and by, once it has a file system; the last one is never formatted.
      for (const name of [MEMBERS[0], MEMBERS.at(-1)]) await inPieces(stage, name ?? "");
    },
    async () => {
      for (const name of MOUNTED)
        await writeFile(join(await mountVolume(stage, name), "f"), name, { flush: true });
    },
    async () => {
      await store
        .create(GroupSnapshots, groupObject("g-1", MEMBERS, { deadlineSeconds: DEADLINE_SECONDS }))
        .catch(made);
      const { status } = await inState("g-1", "ready");
      assert.equal(status?.readyToUse, true);
      for (const { snapshot } of (await store.get(GroupSnapshots, { name: "g-1" })).spec.members) {
        const member = await store.get(Snapshots, { name: snapshot });
        assert.equal(member.status?.creationTime, status?.creationTime);
      }
    },
    async () => {
      for (const name of MOUNTED) await writeFile(join(mount(name), "after"), "goes on", { flush: true });
    },
    // Where its images are no subvolume, out of which nothing can be moved.
    ...(stage.type === "btrfs" ? [] : [() => damaged(stage, "g-1")]),
    // A state that an operator has written: the barrier is taken up where its nodes are, which is its end.
    async () => {
      const put = ({ status }: GroupSnapshot) => {
        if (status !== undefined) status.state = "releasing";
      };
      await mutate(store, GroupSnapshots, { name: "g-1" }, { change: put, subresource: "status" });
      await inState("g-1", "ready");
    },
    // One that cannot be made: another program has frozen a member's file system.
    async () => {
      await writeFile(join(dir, FROZEN_BY_OTHERS), "");
      await host.exec.try("fsfreeze", ["--freeze", mount("v-p-2")]);
      await store.create(GroupSnapshots, groupObject("g-2", MOUNTED, { deadlineSeconds: 2 })).catch(made);
      const { status } = await inState("g-2", stage.type === "btrfs" ? "ready" : "failed");
      await host.exec.try("fsfreeze", ["--unfreeze", mount("v-p-2")]);
      await rm(join(dir, FROZEN_BY_OTHERS));
      if (stage.type !== "btrfs") assert.match(status?.error?.message ?? "", /v-p-2/);
    },
    () => gone(store, GroupSnapshots, "g-2"),
    () => gone(store, GroupSnapshots, "g-1"),
    async () => assert.deepEqual((await store.list(Snapshots)).items, []),
    async () => {
      for (const name of MOUNTED) await unmountVolume(stage, name);
      for (const name of MEMBERS) await gone(store, Volumes, name);
    },
    () => gone(store, Pools, POOL),
  ];
}
