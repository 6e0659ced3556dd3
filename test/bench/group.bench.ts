import { execFile } from "node:child_process";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import {
  isNotFound,
  type KubeObject,
  PersistentVolumeClaims,
  PersistentVolumes,
  type Resource,
  type RestStore,
  VolumeGroupSnapshots,
  waitFor,
} from "@mooring/store";
import { VolumeGroupReverts } from "../../packages/engine/src/api/group-revert.ts";
import { VolumeGroupClones } from "../../packages/sidecars/src/kube/group-clone.ts";
import { VolumeGroupClasses, VolumeGroups } from "../../packages/sidecars/src/kube/volume-group.ts";
import { claim } from "../support/manifests.ts";
import { Up } from "../support/up.ts";
import { type Measurement, SHORT, sized, time } from "./measure.ts";

const command = promisify(execFile);
const SIZES = (process.env["MOORING_BENCH_SIZES"] ?? (SHORT ? "2" : "2,8,32")).split(",").map(Number);
const ROUNDS = Number(process.env["MOORING_BENCH_ROUNDS"] ?? sized(5, 1));
/** Milliseconds for one object: a bench that stands still says so, a busy machine takes its time. */
const LIMIT_MS = 600_000;
/** Written into every member before its snapshot. */
const DATA_BYTES = 8 << 20;
const namespace = "default";
const labels = { app: "bench" };
const OURS = "storage.mooring.dev/v1alpha1";

async function reached<T extends KubeObject>(
  store: RestStore,
  resource: Resource<T>,
  name: string,
  test: (object: T) => boolean,
): Promise<T> {
  const is = (object: T | undefined) => object !== undefined && test(object);
  const found = await waitFor(
    store,
    { resource, key: { namespace, name } },
    is,
    AbortSignal.timeout(LIMIT_MS),
  );
  if (found === undefined) throw new Error(`${resource.kind} ${name} is gone`);
  return found;
}

async function gone(store: RestStore, resource: Resource, name: string): Promise<void> {
  await store.delete(resource, { namespace, name }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
  const isGone = (object: KubeObject | undefined) => object === undefined;
  await waitFor(store, { resource, key: { namespace, name } }, isGone, AbortSignal.timeout(LIMIT_MS));
}

/** A claim that is bound, with data in its image; resolves with the image's path. */
async function member(store: RestStore, images: string, name: string): Promise<string> {
  const object = claim(namespace, name, { size: "16Mi", block: true });
  await store.create(PersistentVolumeClaims, { ...object, metadata: { ...object.metadata, labels } });
  const { spec } = await reached(
    store,
    PersistentVolumeClaims,
    name,
    ({ status }) => status?.phase === "Bound",
  );
  const volume = await store.get(PersistentVolumes, { name: spec?.volumeName ?? "" });
  const image = join(images, `${volume.spec?.csi?.volumeHandle}.img`);
  const file = await open(image, "r+");
  await file.write(Buffer.alloc(DATA_BYTES, 7), 0, DATA_BYTES, 0);
  await file.sync();
  await file.close();
  return image;
}

async function take(store: RestStore, name: string): Promise<void> {
  await store.create(VolumeGroupSnapshots, {
    apiVersion: "groupsnapshot.storage.k8s.io/v1",
    kind: "VolumeGroupSnapshot",
    metadata: { name, namespace },
    spec: { volumeGroupSnapshotClassName: "mooring", source: { selector: { matchLabels: labels } } },
  });
  await reached(store, VolumeGroupSnapshots, name, ({ status }) => status?.readyToUse === true);
}

const complete = ({ status }: { status?: { conditions?: { type: string; status: string }[] } }) =>
  status?.conditions?.some(({ type, status: is }) => type === "Complete" && is === "True") === true;

async function revert(store: RestStore, round: number): Promise<void> {
  const name = `revert-${round}`;
  await store.create(VolumeGroupReverts, {
    ...{ apiVersion: OURS, kind: "VolumeGroupRevert", metadata: { name, namespace } },
    spec: { source: { volumeGroupSnapshotName: "noon" } },
  });
  await reached(store, VolumeGroupReverts, name, complete);
}

/** The VolumeGroup of all members. */
async function grouped(store: RestStore, count: number): Promise<void> {
  await store.create(VolumeGroups, {
    ...{ apiVersion: OURS, kind: "VolumeGroup", metadata: { name: "bench", namespace } },
    spec: { volumeGroupClassName: "bench", source: { selector: { matchLabels: labels } } },
  });
  const joined = ({ status }: { status?: { members?: { state: string }[] } }) =>
    status?.members?.filter(({ state }) => state === "Joined").length === count;
  await reached(store, VolumeGroups, "bench", joined);
}

/** A group from a group. */
async function clone(store: RestStore, name: string): Promise<void> {
  await store.create(VolumeGroupClones, {
    ...{ apiVersion: OURS, kind: "VolumeGroupClone", metadata: { name, namespace } },
    spec: { source: { volumeGroupName: "bench" }, volumeGroupSnapshotClassName: "mooring" },
  });
  await reached(store, VolumeGroupClones, name, ({ status }) => status?.phase === "Ready");
}

async function unclone(store: RestStore, name: string, members: readonly string[]): Promise<void> {
  await gone(store, VolumeGroups, name);
  await gone(store, VolumeGroupClones, name);
  await Promise.all(members.map((each) => gone(store, PersistentVolumeClaims, `${each}-${name}`)));
}

/** The same by hand: one reflink per member, synced together, and then renamed to where it is wanted. */
async function rawCopies(folder: string, images: readonly string[]): Promise<void> {
  const names = images.map((_, index) => join(folder, `copy-${index}`));
  await Promise.all(
    images.map((image, index) => command("cp", ["--reflink=always", image, `${names[index]}.new`])),
  );
  await command("sync", ["--file-system", folder]);
  for (const name of names) await rename(`${name}.new`, name);
  await command("sync", ["--file-system", folder]);
}

/** How long each part of the run took, for a user who waits for it. */
function laps(): (what: string) => void {
  let begun = performance.now();
  return (what) => {
    process.stderr.write(`    ${what}: ${Math.round(performance.now() - begun)} ms\n`);
    begun = performance.now();
  };
}

async function measure(store: RestStore, raw: string, images: readonly string[], names: readonly string[]) {
  const reverted = { ours: 0, raw: 0 };
  const cloned = { ours: 0, raw: 0 };
  const lap = laps();
  await take(store, "noon");
  lap("snapshot");
  reverted.raw = await time(ROUNDS, () => rawCopies(raw, images));
  reverted.ours = await time(ROUNDS, (round) => revert(store, round));
  for (let round = 0; round < ROUNDS; round += 1) await gone(store, VolumeGroupReverts, `revert-${round}`);
  lap("reverts");
  await gone(store, VolumeGroupSnapshots, "noon");
  // A clone by hand is a snapshot and a copy of it.
  const twice = async () => {
    await rawCopies(raw, images);
    await rawCopies(raw, images);
  };
  cloned.raw = await time(ROUNDS, twice);
  await grouped(store, names.length);
  lap("group made");
  cloned.ours = await time(ROUNDS, (round) => clone(store, `clone-${round}`));
  lap("clones");
  for (let round = 0; round < ROUNDS; round += 1) await unclone(store, `clone-${round}`, names);
  lap("clones deleted");
  await gone(store, VolumeGroups, "bench");
  return { reverted, cloned };
}

/**
 * Reverts and clones of whole groups, from the object until it is complete or ready, beside raw reflinks of the same
 * images.
 */
export async function run(): Promise<Measurement[]> {
  const up = await Up.create({ poolSize: "16Gi" });
  try {
    await up.start();
    const store = await up.store();
    await store.create(VolumeGroupClasses, {
      ...{ apiVersion: OURS, kind: "VolumeGroupClass", metadata: { name: "bench" } },
      ...{ driver: "csi.mooring.dev", deletionPolicy: "Delete" },
    });
    const pool = join(up.stateDir, "pools", "default", "mnt");
    const raw = join(pool, "raw");
    const [images, names]: [string[], string[]] = [[], []];
    const all: Measurement[] = [];
    for (const count of SIZES) {
      process.stderr.write(`  ${count} members ...\n`);
      while (names.length < count) {
        const name = `m${names.length}`;
        images.push(await member(store, join(pool, "images"), name));
        names.push(name);
      }
      await mkdir(raw, { recursive: true });
      const { reverted, cloned } = await measure(store, raw, images, names);
      await rm(raw, { recursive: true });
      const figure = (what: string, { ours, raw }: { ours: number; raw: number }): Measurement => ({
        ...{ name: `${what} of a group of ${count}, median`, unit: "ms", value: ours },
        ...{ baseline: raw, baselineName: "raw reflinks" },
      });
      all.push(figure("revert", reverted), figure("clone", cloned));
    }
    await Promise.all(names.map((name) => gone(store, PersistentVolumeClaims, name)));
    return all;
  } finally {
    await up.dispose();
  }
}
