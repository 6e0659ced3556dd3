import { createHost, findLeaks, type Leak } from "@mooring/engine";
import { VolumeGroups } from "@mooring/sidecars";
import {
  Namespaces,
  type ObjectStore,
  Pods,
  type Resource,
  VolumeGroupSnapshotContents,
  VolumeGroupSnapshots,
} from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { kubeletMounts } from "../../../packages/cli/src/doctor/kubelet-mounts.ts";
import { nothingLeftOver } from "../../support/left-over.ts";
import { filesBelow, machineRemains } from "../../support/remains.ts";
import { LEFTOVER_KINDS } from "../../support/scenario.ts";
import { NAMESPACE } from "./life.ts";
import type { KillLoop } from "./run.ts";

/** Kinds of which nothing may be left when all that clients have made is deleted. */
const KINDS: readonly Resource[] = [
  ...LEFTOVER_KINDS,
  VolumeGroupSnapshots,
  VolumeGroupSnapshotContents,
  VolumeGroups,
];

/** What no object explains: images, devices and mounts. */
export async function findLeaksBelow(store: ObjectStore, stateDir: string): Promise<Leak[]> {
  const explains = await kubeletMounts(store, stateDir);
  return findLeaks({ store, host: createHost(), stateDir, explains });
}

/** Deletes everything. Resolves with what is left of it: objects, images, devices, mounts, processes. */
export async function endLoop(loop: KillLoop): Promise<string[]> {
  const life = await loop.startWhole();
  const wrong = await loop.check(life);
  for (const client of [...loop.volumes, loop.groups]) await client.deleteAll(life);
  const { store } = life;
  const { stateDir } = loop.up;
  const log = () => loop.up.output.slice(-4000);
  await eventually("all pods to be gone", async () => (await store.list(Pods)).items.length === 0, {
    lastSeen: log,
  });
  await store.delete(Namespaces, { name: NAMESPACE });
  for (const resource of KINDS)
    await eventually(
      `no ${resource.plural} to be left`,
      async () => (await store.list(resource)).items.length === 0,
      { lastSeen: log },
    );
  await nothingLeftOver(store, stateDir);
  const leaks = await findLeaksBelow(store, stateDir);
  wrong.push(...leaks.map(({ kind, subject }) => `${kind} ${subject}`));
  await loop.up.atRest();
  const code = await loop.up.end("SIGTERM");
  if (code !== 0) wrong.push(`ended with ${code}: ${log()}`);
  wrong.push(...(await machineRemains(stateDir)));
  const images = (await filesBelow(stateDir)).filter((path) => /\/images\/|\.sock$/.test(path));
  return [...wrong, ...images];
}
