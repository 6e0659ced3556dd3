import type { TestContext } from "node:test";
import { type PersistentVolumeClaim, PersistentVolumeClaims, PersistentVolumes } from "@mooring/store";
import { put } from "../../group-restore/testing/group.ts";
import {
  type GroupMember,
  type VolumeGroup,
  VolumeGroupClasses,
  VolumeGroups,
} from "../../kube/volume-group.ts";
import { type Harness, type HarnessOptions, startHarness } from "../../testing/harness.ts";
import { boundPair, volumeGroup, volumeGroupClass } from "./objects.ts";

export const at = (name: string, namespace = "default") => ({ namespace, name });

export interface World extends Harness {
  /** A claim with its volume, bound. */
  claim(
    name: string,
    labels?: Record<string, string>,
    options?: Parameters<typeof boundPair>[2],
  ): Promise<PersistentVolumeClaim>;
  /** Waits until a group is as given, and gives it. */
  group(name: string, accept: (group: VolumeGroup) => boolean, namespace?: string): Promise<VolumeGroup>;
  /** The volumes in the group on the storage system, sorted. */
  stored(name: string): string[];
  label(name: string, labels: Record<string, string | null>): Promise<void>;
}

/** The operator alone, in front of a driver that is scripted; claims are bound by hand. */
export async function startWorld(t: TestContext, options: HarnessOptions = {}): Promise<World> {
  const h = await startHarness(t, {
    ...options,
    driver: { volumeGroups: ["modify", "get", "list"], ...options.driver },
    sidecars: { controllers: ["volume-group"], ...options.sidecars },
  });
  await h.store.create(VolumeGroupClasses, volumeGroupClass());
  return Object.assign(h, {
    claim: async (...args: Parameters<typeof boundPair>) => {
      const pair = boundPair(...args);
      const stored = await put(h.store, PersistentVolumeClaims, pair.claim);
      const claimRef = { ...pair.volume.spec?.claimRef, uid: stored.metadata.uid ?? "" };
      await put(h.store, PersistentVolumes, { ...pair.volume, spec: { ...pair.volume.spec, claimRef } });
      return stored;
    },
    group: (name: string, accept: (group: VolumeGroup) => boolean, namespace = "default") =>
      h.until(
        `VolumeGroup ${name}`,
        async () => {
          const found = await h.find(VolumeGroups, name, namespace);
          return found !== undefined && accept(found) && found;
        },
        () => h.find(VolumeGroups, name, namespace),
      ),
    stored: (name: string) => {
      const uid = [...h.driver.volumeGroups.groups.values()].find(
        (group) => group.id === name || group.name === name,
      );
      return [...(uid?.members ?? [])].sort();
    },
    label: async (name: string, labels: Record<string, string | null>) => {
      await h.store.patch(PersistentVolumeClaims, at(name), {
        type: "merge",
        body: { metadata: { labels } },
      });
    },
  });
}

export const isTrue =
  (type: string) =>
  ({ status }: VolumeGroup): boolean =>
    status?.conditions?.some((each) => each.type === type && each.status === "True") === true;

/** `name: State Reason` of every member. */
export const membersOf = ({ status }: VolumeGroup): string[] =>
  (status?.members ?? []).map(
    ({ claimName, reason, state }: GroupMember) => `${claimName}: ${state} ${reason}`,
  );

/** All settled, with just these claims joined. */
export const joined =
  (...names: string[]) =>
  (group: VolumeGroup): boolean =>
    isTrue("MembersSynced")(group) &&
    (group.status?.members ?? [])
      .filter(({ state }) => state === "Joined")
      .map(({ claimName }) => claimName)
      .join() === names.join();

/** Makes a group and waits until these claims are in it. */
export async function makeGroup(
  w: World,
  name: string,
  names: readonly string[],
  spec: Partial<VolumeGroup["spec"]> = {},
): Promise<VolumeGroup> {
  const { uid: _uid, ...metadata } = volumeGroup(name).metadata;
  await w.store.create(VolumeGroups, { ...volumeGroup(name, spec), metadata });
  return w.group(name, joined(...names));
}
