import { existsSync } from "node:fs";
import { rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type KubeObject, mutate, type ObjectStore, type Resource } from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { Snapshots } from "../api/snapshot.ts";
import { type Volume, Volumes } from "../api/volume.ts";
import type { Host } from "../host/host.ts";
import { poolLayout } from "../pools/layout.ts";
import { POOL, until } from "./agent.ts";

/** A node's store, machine and scratch folder; the pool is one with devices. */
interface Place {
  store: ObjectStore;
  host: Host;
  dir: string;
}

const WRONG = { code: "UNAVAILABLE", message: "left by somebody" };

/** What goes wrong with a volume that no workload uses, and is put right; every phase can be done again from its start. */
export function volumeTroubles(place: Place, name: string): (() => Promise<unknown>)[] {
  const { store } = place;
  const faulted = (expected: boolean) => async () => {
    await touch(store, Volumes, name);
    await until(store, Volumes, name, ({ status }) => (status?.robustness === "faulted") === expected);
  };
  return [
    () => away(place, name, faulted(true), faulted(false)),
    async () => {
      const put = ({ status }: Volume) => {
        if (status !== undefined) status.error = WRONG;
      };
      await mutate(store, Volumes, { name }, { change: put, subresource: "status" });
      await until(store, Volumes, name, ({ status }) => status?.error === undefined);
    },
  ];
}

/** The same with a snapshot that is ready. */
export function snapshotTroubles(place: Place, name: string): (() => Promise<unknown>)[] {
  const { store } = place;
  const ready = (expected: boolean) => async () => {
    await touch(store, Snapshots, name);
    await until(store, Snapshots, name, ({ status }) => status?.readyToUse === expected);
  };
  return [
    () => away(place, name, ready(false), ready(true)),
    async () => {
      const put = ({ status }: { status?: { error?: object } }) => {
        if (status !== undefined) status.error = WRONG;
      };
      await mutate(store, Snapshots, { name }, { change: put, subresource: "status" });
      await until(store, Snapshots, name, ({ status }) => status?.error === undefined);
    },
  ];
}

/** The device of an attached volume that is not mounted goes away, as it does when the machine restarts. */
export async function loseDevice({ store, host }: Place, name: string): Promise<void> {
  const { status } = await store.get(Volumes, { name });
  // The record may be of before: its number is another test's by now.
  const loop = status?.device === undefined ? undefined : await host.loops.at(status.device);
  if (loop?.backingFile.endsWith(`/${name}.img`)) await host.loops.detach(loop);
  await touch(store, Volumes, name);
  await eventually("another device", async () => {
    const { status: now } = await store.get(Volumes, { name });
    return now?.device !== undefined && (await host.loops.at(now.device)) !== undefined;
  });
}

/** Does the one while the image is out of its place, and the other when it is back. */
async function away(
  { dir }: Place,
  name: string,
  meanwhile: () => Promise<void>,
  afterwards: () => Promise<void>,
): Promise<void> {
  const { images } = poolLayout("xfs", join(dir, "state", "pools", POOL));
  const image = join(images, `${name}.img`);
  const aside = join(dirname(images), `aside-${name}.img`);
  if (!existsSync(aside)) await rename(image, aside);
  await meanwhile();
  await rename(aside, image);
  await afterwards();
}

/** No event reports what becomes of files. */
async function touch(store: ObjectStore, resource: Resource<KubeObject>, name: string): Promise<void> {
  await mutate(store, resource, { name }, ({ metadata }) => {
    metadata.annotations = { ...metadata.annotations, touched: `${performance.now()}` };
  });
}
