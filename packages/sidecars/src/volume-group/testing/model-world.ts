import assert from "node:assert/strict";
import { CsiError } from "@mooring/csi";
import { isOutcome, type PersistentVolume, type PersistentVolumeClaim } from "@mooring/store";
import { lockFor, lockOf } from "../../common/member-lock.ts";
import {
  backendNameOf,
  contentNameOf,
  GROUP_DRIVER,
  MEMBER_FINALIZER,
  MEMBER_OF,
  VOLUME_GROUP_BEING_CREATED,
  VOLUME_GROUP_CONTENT_FINALIZER,
  VOLUME_GROUP_FINALIZER,
} from "../../common/volume-group-names.ts";
import type { VolumeGroup, VolumeGroupContent } from "../../kube/volume-group.ts";
import { DRIVER } from "../../testing/objects.ts";
import { type BackendVolumeGroup, VolumeGroupBackend } from "../../testing/volume-groups.ts";
import { decideVolumeGroup } from "../decide.ts";
import { isRead } from "../selection.ts";
import type { Decision, VolumeGroupStep } from "../step.ts";
import { StorageMemory } from "../storage-memory.ts";
import type { Candidate, VolumeGroupView } from "../view.ts";
import { boundPair, volumeGroup, volumeGroupClass } from "./objects.ts";

type Fields = Partial<VolumeGroup["metadata"]>;
/** Another operator was faster: what this one had read was old. */
class Outdated extends Error {}

/**
 * A namespace, a storage system and operators without clocks, sockets and waiting. Objects never change in place, so that a
 * decision which was made of an object that is not the present one is refused as an API server refuses it.
 */
export class ModelWorld {
  readonly claims = new Map<string, PersistentVolumeClaim>();
  readonly volumes = new Map<string, PersistentVolume>();
  readonly groups = new Map<string, VolumeGroup>();
  readonly contents = new Map<string, VolumeGroupContent>();
  readonly backend = new VolumeGroupBackend();
  readonly memories: StorageMemory[];
  modified = 0;
  /** The next call has its effect, and the caller gets no response. */
  deaf = false;
  #now = 0;
  #born = 0;

  constructor(operators: number) {
    this.memories = Array.from({ length: operators }, () => this.#memory());
  }

  #memory(): StorageMemory {
    return new StorageMemory({ startMs: 5, maxMs: 40, now: () => this.#now, periodMs: 600_000 });
  }

  /** An operator without memory of before takes the place of one. */
  restart(operator: number): void {
    this.memories[operator] = this.#memory();
  }

  tick(ms: number): void {
    this.#now += ms;
  }

  makeClaim(name: string, team: string): void {
    if (this.claims.has(name)) return;
    const uid = `claim-${this.#born++}`;
    const { claim, volume } = boundPair(name, { team });
    const csi = { driver: DRIVER, volumeHandle: `vol-${uid}` };
    const claimRef = { ...volume.spec?.claimRef, uid };
    this.claims.set(name, { ...claim, metadata: { ...claim.metadata, uid } });
    this.volumes.set(volume.metadata.name, { ...volume, spec: { ...volume.spec, claimRef, csi } });
  }

  makeGroup(name: string, teams: string[]): void {
    if (this.groups.has(name)) return;
    const selector = { matchExpressions: [{ key: "team", operator: "In" as const, values: teams }] };
    const uid = `group-${this.#born++}`;
    this.groups.set(name, volumeGroup(name, { source: { selector } }, { uid }));
  }

  label(name: string, team: string): void {
    const claim = this.claims.get(name);
    if (claim !== undefined) this.#putClaim({ ...claim, metadata: { ...claim.metadata, labels: { team } } });
  }

  deleteClaim(name: string): void {
    const claim = this.claims.get(name);
    if (claim !== undefined) this.#putClaim(deleted(claim));
  }

  deleteGroup(name: string): void {
    const group = this.groups.get(name);
    if (group !== undefined) this.#putGroup(deleted(group));
  }

  /** What one operator would do about a group, or about a content whose group is gone. */
  decide(key: string, operator: number): { step: Decision; view: VolumeGroupView } {
    const view = this.#view(key, operator);
    return { step: decideVolumeGroup(view), view };
  }

  /** False: the picture was old, and nothing has happened. */
  apply({ step, view }: { step: Decision; view: VolumeGroupView }, operator: number): boolean {
    try {
      this.#apply(step as VolumeGroupStep, view, this.memories[operator] ?? this.#memory());
      return true;
    } catch (error) {
      if (error instanceof Outdated) return false;
      throw error;
    }
  }

  /** Until every operator rests; one that never does has lost its way. */
  settle(): void {
    for (let steps = 0, idle = 0; steps < 5_000; steps += 1) {
      const moved = this.keys().some((key) =>
        this.memories.some((_, operator) => this.#stepOf(key, operator)),
      );
      idle = moved ? 0 : idle + 1;
      // Back-off ends, and nothing is asked again: that is rest.
      if (idle > 3) return;
      if (!moved) this.tick(10_000);
    }
    assert.fail(`no rest: ${JSON.stringify([...this.groups.values()].map(({ status }) => status))}`);
  }

  keys(): string[] {
    return [...this.groups.keys(), ...[...this.contents.keys()].map((name) => `content:${name}`)];
  }

  #stepOf(key: string, operator: number): boolean {
    const decided = this.decide(key, operator);
    if (isOutcome(decided.step)) return false;
    this.apply(decided, operator);
    return true;
  }

  #view(key: string, operator: number): VolumeGroupView {
    const isContent = key.startsWith("content:");
    const group = isContent ? undefined : this.groups.get(key);
    const name = isContent ? key.slice(8) : group === undefined ? "" : contentNameOf(group);
    const found = this.contents.get(name);
    const isLeft = (ref: string | undefined) =>
      ![...this.groups.values()].some((each) => each.metadata.uid === ref);
    const content = isContent && !isLeft(found?.spec.volumeGroupRef.uid) ? undefined : found;
    return {
      driver: DRIVER,
      canGetGroup: true,
      group,
      groupClass: volumeGroupClass(),
      content,
      candidates: this.#candidates(group, content),
      storage: (this.memories[operator] ?? this.#memory()).view(
        content?.metadata.uid ?? "",
        content?.status?.volumeHandles ?? [],
      ),
      freezes: [],
      freezeLimitMs: 1_000,
      refusedGrowth: new Map(),
      now: "2026-01-01T00:00:00Z",
    };
  }

  #candidates(group: VolumeGroup | undefined, content: VolumeGroupContent | undefined): Candidate[] {
    const uid = group?.metadata.uid ?? content?.spec.volumeGroupRef.uid;
    const isOurs = (claim: PersistentVolumeClaim) =>
      group === undefined ? lockOf(claim)?.uid === uid : isRead(group, claim, () => false);
    return [...this.claims.values()].filter(isOurs).map((claim) => {
      const lock = lockOf(claim);
      const owner = [...this.groups.values()].find(({ metadata }) => metadata.uid === lock?.uid);
      const isOther = owner !== undefined && lock?.uid !== uid;
      const volume = this.volumes.get(claim.spec?.volumeName ?? "");
      return { claim, volume, ...(isOther ? { owner: owner.metadata.name } : {}) };
    });
  }

  #apply(step: VolumeGroupStep, view: VolumeGroupView, memory: StorageMemory): void {
    const { content, group } = view;
    if (this.#onClaim(step, group) || (group !== undefined && this.#onGroup(step, group))) return;
    if (content === undefined || this.#isCall(step, content, memory)) return;
    this.#onContent(step, content, group, memory);
  }

  #onClaim(step: VolumeGroupStep, group: VolumeGroup | undefined): boolean {
    if (step.do === "protect-claims" && group !== undefined)
      everyOne(step.claims, ({ claim, handle }) =>
        this.#protect(claim, { [MEMBER_OF]: lockFor(group, handle) }, [MEMBER_FINALIZER]),
      );
    else if (step.do === "release-claims") everyOne(step.claims, (claim) => this.#protect(claim, {}, []));
    else if (step.do === "delete-claims")
      for (const claim of step.claims) this.deleteClaim(claim.metadata.name);
    else return false;
    return true;
  }

  #protect(claim: PersistentVolumeClaim, annotations: Record<string, string>, finalizers: string[]): void {
    if (this.claims.get(claim.metadata.name) !== claim) throw new Outdated();
    this.#putClaim({ ...claim, metadata: { ...claim.metadata, annotations, finalizers } });
  }

  #onGroup(step: VolumeGroupStep, group: VolumeGroup): boolean {
    const write = (fields: Fields, status = group.status) => {
      if (this.groups.get(group.metadata.name) !== group) throw new Outdated();
      this.#putGroup({ ...group, metadata: { ...group.metadata, ...fields }, ...(status ? { status } : {}) });
      return true;
    };
    if (step.do === "add-finalizer")
      return write({ annotations: { [GROUP_DRIVER]: DRIVER }, finalizers: [VOLUME_GROUP_FINALIZER] });
    if (step.do === "write-status") return write({}, step.status);
    if (step.do === "release-group") return write({ finalizers: [] });
    if (step.do !== "create-content") return false;
    const { name } = step.content.metadata;
    if (this.contents.has(name)) throw new Outdated();
    const metadata = { ...step.content.metadata, uid: `content-${this.#born++}` };
    this.contents.set(name, { ...step.content, metadata });
    return true;
  }

  #onContent(
    step: VolumeGroupStep,
    content: VolumeGroupContent,
    group: VolumeGroup | undefined,
    memory: StorageMemory,
  ): void {
    const { metadata, spec } = content;
    const uid = metadata.uid ?? "";
    const isPresent = this.contents.get(metadata.name) === content;
    if (!isPresent && step.do === "record") memory.settled(uid, "doubtful");
    if (!isPresent) throw new Outdated();
    if (step.do === "bind-content")
      this.#putContent({
        ...content,
        metadata: { ...metadata, finalizers: [VOLUME_GROUP_CONTENT_FINALIZER] },
        spec: { ...spec, volumeGroupRef: { ...spec.volumeGroupRef, uid: group?.metadata.uid ?? "" } },
      });
    if (step.do === "mark-being-created") {
      const annotations = { ...metadata.annotations, [VOLUME_GROUP_BEING_CREATED]: "yes" };
      this.#putContent({ ...content, metadata: { ...metadata, annotations } });
      memory.marked(uid);
    }
    if (step.do === "record") {
      const status = Object.entries({ ...content.status, ...step.status }).filter(
        ([, value]) => value !== null,
      );
      this.#putContent({ ...content, status: Object.fromEntries(status) });
      memory.settled(uid, "recorded");
    }
    if (step.do === "write-content-conditions")
      this.#putContent({ ...content, status: { ...content.status, ...step.status } });
    if (step.do === "delete-content") this.#putContent(deleted(content));
    if (step.do === "release-content") {
      this.#putContent({ ...content, metadata: { ...metadata, finalizers: [] } });
      memory.forget(uid);
    }
  }

  /** A call to the storage system; it does not ask how old the caller's picture is. */
  #isCall(step: VolumeGroupStep, { metadata, spec }: VolumeGroupContent, memory: StorageMemory): boolean {
    const uid = metadata.uid ?? "";
    const reported = ({ id, members }: BackendVolumeGroup) => ({
      ...{ handle: id, context: {}, volumeHandles: [...members].sort() },
    });
    const call = (failed: (failure: { code: number; message: string }) => void, run: () => () => void) => {
      try {
        const heard = run();
        if (!this.deaf) return heard();
        this.deaf = false;
        failed({ code: 14, message: "the response was lost" });
      } catch (error) {
        if (!(error instanceof CsiError)) throw error;
        failed(error);
      }
    };
    if (step.do === "create-group") {
      const name = backendNameOf(spec.volumeGroupRef.uid ?? "");
      call(
        (failure) => memory.createFailed(uid, failure as never),
        () => {
          const made = reported(this.backend.create({ name, parameters: {} } as never));
          return () => memory.created(uid, made);
        },
      );
    } else if (step.do === "get-group") {
      const found = this.backend.groups.get(step.handle);
      if (found !== undefined) memory.received(uid, reported(found));
      else memory.vanished(uid, step.handle, { message: "there is none", proven: true });
    } else if (step.do === "modify") {
      this.modified += 1;
      call(
        (failure) => memory.modifyFailed(uid, failure as never, step),
        () => {
          const changed = reported(this.backend.modify(step.handle, step.volumeHandles));
          return () => memory.modified(uid, changed, step.volumeHandles);
        },
      );
    } else if (step.do === "delete-group") {
      call(
        ({ message }) => memory.failed(uid, "delete", step.handle, message),
        () => {
          const there = this.backend.groups.get(step.handle);
          if (there !== undefined && [...there.members].some((each) => !step.volumeHandles.includes(each))) {
            const result = reported(there);
            return () => memory.received(uid, result);
          }
          this.backend.delete(step.handle);
          return () => memory.deleted(uid);
        },
      );
    } else return false;
    return true;
  }

  #putClaim(claim: PersistentVolumeClaim): void {
    put(this.claims, claim);
  }
  #putGroup(group: VolumeGroup): void {
    put(this.groups, group);
  }
  #putContent(content: VolumeGroupContent): void {
    put(this.contents, content);
  }
}

/** As the operator does it: all are tried, then the first failure counts. */
function everyOne<T>(items: readonly T[], change: (item: T) => void): void {
  const failures: unknown[] = [];
  for (const item of items) {
    try {
      change(item);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

/** Deletion as an API server does it: an object with finalizers stays until the last one is gone. */
function deleted<T extends PersistentVolumeClaim | VolumeGroup | VolumeGroupContent>(object: T): T {
  const deletionTimestamp = object.metadata.deletionTimestamp ?? "2026-01-01T00:00:00Z";
  return { ...object, metadata: { ...object.metadata, deletionTimestamp } };
}

function put<T extends PersistentVolumeClaim | VolumeGroup | VolumeGroupContent>(
  all: Map<string, T>,
  object: T,
): void {
  const { deletionTimestamp, finalizers = [], name } = object.metadata;
  if (deletionTimestamp !== undefined && finalizers.length === 0) all.delete(name);
  else all.set(name, object);
}
