import { defined, keyOf, type PersistentVolumeClaim, type VolumeGroupSnapshot } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { groupContentNameFor } from "../common/group-snapshot-names.ts";
import { lockOf } from "../common/member-lock.ts";
import { rfc3339 } from "../common/time.ts";
import { DEFAULT_VOLUME_GROUP_CLASS } from "../common/volume-group-names.ts";
import type { FrozenFor, VolumeGroup, VolumeGroupClass, VolumeGroupContent } from "../kube/volume-group.ts";
import { claimsOf } from "./candidates.ts";
import { freezeLimitMs, freezesOf } from "./freeze.ts";
import type { GrowthRefusals } from "./growth-refusals.ts";
import { contentOf } from "./in-group.ts";
import type { StorageMemory } from "./storage-memory.ts";
import type { Candidate, VolumeGroupView } from "./view.ts";

/** Reads what a decision needs. `fresh`: an earlier step met outdated caches, so the server itself is asked. */
export class VolumeGroupReader {
  readonly #context: SidecarContext;
  readonly #memory: StorageMemory;

  readonly #growth: GrowthRefusals;

  constructor(context: SidecarContext, memory: StorageMemory, growth: GrowthRefusals) {
    this.#context = context;
    this.#memory = memory;
    this.#growth = growth;
  }

  /** For the group `namespace/name`; without one there is nothing to do: its content has a key of its own. */
  async ofGroup(key: string, fresh: boolean): Promise<VolumeGroupView> {
    const { cluster } = this.#context;
    const group = fresh ? await cluster.volumeGroups.refresh(key) : cluster.volumeGroups.get(key);
    if (group === undefined) return this.#view({});
    const name = contentOf(group);
    const known = fresh ? undefined : cluster.volumeGroupContents.get(name);
    // Watches of two kinds are not in step: before a content is called missing, the server has to say so.
    const content = known ?? (await cluster.volumeGroupContents.refresh(name));
    return this.#view({ group, content, candidates: await this.#candidates(group) });
  }

  /** For a content whose group is gone. */
  async ofContent(name: string, fresh: boolean): Promise<VolumeGroupView> {
    const { cluster } = this.#context;
    const content = fresh
      ? await cluster.volumeGroupContents.refresh(name)
      : cluster.volumeGroupContents.get(name);
    if (content === undefined || content.spec.driver !== this.#context.driver.info.name)
      return this.#view({});
    const { uid } = content.spec.volumeGroupRef;
    if (uid !== undefined && (await this.#isThere(content.spec.volumeGroupRef, uid))) return this.#view({});
    const held = uid === undefined ? [] : cluster.claims.byIndex("volumeGroup", uid);
    return this.#view({ content, candidates: held.map((claim) => this.#candidate(claim)) });
  }

  async #isThere(ref: { name: string; namespace: string }, uid: string): Promise<boolean> {
    const { volumeGroups } = this.#context.cluster;
    const key = keyOf({ metadata: ref });
    if (volumeGroups.get(key)?.metadata.uid === uid) return true;
    return (await volumeGroups.refresh(key))?.metadata.uid === uid;
  }

  #view({
    candidates = [],
    content,
    group,
  }: {
    candidates?: Candidate[];
    content?: VolumeGroupContent | undefined;
    group?: VolumeGroup;
  }): VolumeGroupView {
    const { driver, now, timeoutMs } = this.#context;
    const can = driver.info.volumeGroups;
    return {
      driver: driver.info.name,
      canGetGroup: can.has("GET_VOLUME_GROUP") || can.has("LIST_VOLUME_GROUPS"),
      group,
      groupClass: group === undefined ? undefined : this.#classOf(group),
      content,
      candidates,
      refusedGrowth: this.#growth.of(candidates.map(({ claim }) => claim.metadata.uid ?? "")),
      freezes: group === undefined ? [] : this.#freezesOf(group),
      freezeLimitMs: freezeLimitMs(timeoutMs),
      storage: this.#memory.view(content?.metadata.uid ?? "", content?.status?.volumeHandles ?? []),
      now: rfc3339(now()),
    };
  }

  #freezesOf(group: VolumeGroup): FrozenFor[] {
    const { cluster, hasGroupKinds } = this.#context;
    if (!hasGroupKinds) return [];
    const contentOf = (snapshot: VolumeGroupSnapshot) =>
      cluster.groupContents.get(groupContentNameFor(snapshot));
    return freezesOf(cluster.groups.byIndex("volumeGroup", keyOf(group)), contentOf);
  }

  /** The newest of the default classes, as the API server chooses. */
  #classOf({ spec }: VolumeGroup): VolumeGroupClass | undefined {
    const { volumeGroupClasses } = this.#context.cluster;
    if (spec.volumeGroupClassName !== undefined) return volumeGroupClasses.get(spec.volumeGroupClassName);
    const age = ({ metadata }: VolumeGroupClass) => metadata.creationTimestamp ?? "";
    return volumeGroupClasses
      .list()
      .filter(({ metadata }) => metadata.annotations?.[DEFAULT_VOLUME_GROUP_CLASS] === "true")
      .sort((a, b) => age(b).localeCompare(age(a)) || a.metadata.name.localeCompare(b.metadata.name))[0];
  }

  async #candidates(group: VolumeGroup): Promise<Candidate[]> {
    const candidates: Candidate[] = [];
    for (const claim of claimsOf(this.#context.cluster, group)) {
      const owner = await this.#ownerOf(claim, group);
      const storageClass =
        group.spec.memberSize === undefined
          ? undefined
          : this.#context.cluster.classes.get(claim.spec?.storageClassName ?? "");
      const own = { ...this.#candidate(claim), ...defined({ storageClass }) };
      candidates.push({ ...own, ...defined({ owner }) });
    }
    return candidates;
  }

  #candidate(claim: PersistentVolumeClaim): Candidate {
    const { volumes } = this.#context.cluster;
    const volumeName = claim.spec?.volumeName;
    return { claim, volume: volumeName ? volumes.get(volumeName) : undefined };
  }

  /** Another group that has the claim. The mark of a group that is gone counts for nothing. */
  async #ownerOf(claim: PersistentVolumeClaim, { metadata }: VolumeGroup): Promise<string | undefined> {
    const lock = lockOf(claim);
    if (lock === undefined || lock.uid === metadata.uid) return undefined;
    const ref = { name: lock.name, namespace: metadata.namespace ?? "" };
    return (await this.#isThere(ref, lock.uid)) ? lock.name : undefined;
  }
}
