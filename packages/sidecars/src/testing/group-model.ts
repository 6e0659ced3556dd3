import assert from "node:assert/strict";
import {
  applyMergePatch,
  hasFinalizer,
  isDeleting,
  isOutcome,
  type KubeObject,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotContent,
  type VolumeSnapshot,
  type VolumeSnapshotContent,
} from "@mooring/store";
import {
  GROUP_BEING_DELETED,
  GROUP_FINALIZER,
  SNAPSHOT_IN_GROUP_FINALIZER,
  SNAPSHOT_SOURCE_FINALIZER,
} from "../common/names.ts";
import { decideGroupSnapshot } from "../group-snapshot/decide.ts";
import { membersOf } from "../group-snapshot/member.ts";
import type { MemberWrite } from "../group-snapshot/member-writes.ts";
import type { Candidate } from "../group-snapshot/sources.ts";
import type { GroupSnapshotStep, GroupSnapshotView } from "../group-snapshot/view.ts";
import { claim, DRIVER, groupClass, groupSnapshot, persistentVolume } from "./objects.ts";

export type GroupAction =
  /** One step of the controller; of changes to members only the first `keep` are made (0: all), as after a crash. */
  | { do: "step"; keep: number }
  /** The driver's half goes on: creates, gets ready, or deletes. */
  | { do: "driver" }
  | { do: "delete-group" }
  | { do: "delete-member" | "lose-member" | "restore"; index: number }
  | { do: "retain" };

/** A group snapshot, its objects and its driver as values; it does what an API server does with finalizers. */
export class GroupModel {
  group: VolumeGroupSnapshot | undefined = groupSnapshot("group", {
    source: { selector: { matchLabels: { app: "db" } } },
    volumeGroupSnapshotClassName: "groups",
  });
  content: VolumeGroupSnapshotContent | undefined;
  readonly snapshots = new Map<string, VolumeSnapshot>();
  readonly contents = new Map<string, VolumeSnapshotContent>();
  readonly candidates: Candidate[] = ["data", "log"].map(candidate);
  exists = false;
  #next = 1;

  act(action: GroupAction): void {
    if (action.do === "step") this.step(action.keep);
    else if (action.do === "driver") this.#driver();
    else if (action.do === "delete-group") this.#deleteGroup();
    else if (action.do === "retain") this.#retain();
    else this.#touchMember(action.do, action.index);
  }

  /** False when the controller has nothing to do. */
  step(keep = 0): boolean {
    const step = decideGroupSnapshot(this.#view());
    if (isOutcome(step)) return false;
    this.#apply(step, keep);
    return true;
  }

  /** Everybody works until nothing is left to do; restores end. */
  settle(): void {
    for (const [name, snapshot] of this.snapshots)
      this.#put(this.snapshots, name, drop(snapshot, SNAPSHOT_SOURCE_FINALIZER));
    for (let rounds = 0; ; rounds += 1) {
      assert.ok(rounds < 100, "the steps do not end");
      const stepped = this.step();
      const driven = this.#driver();
      if (!stepped && !driven) return;
    }
  }

  /** What must be true at every moment. */
  check(): void {
    const { content, group } = this;
    if (group?.status?.readyToUse === true && !isDeleting(group) && content !== undefined)
      assert.equal(content.status?.readyToUse, true, "a group is ready only when its content is");
    for (const { metadata, status } of this.snapshots.values()) {
      if (status?.readyToUse !== true || metadata.deletionTimestamp !== undefined) continue;
      const bound = this.contents.get(status.boundVolumeSnapshotContentName ?? "");
      if (bound !== undefined)
        assert.equal(bound.spec.volumeSnapshotRef.uid, metadata.uid, "what is ready is bound");
    }
    if (this.exists && group === undefined)
      assert.equal(content?.spec.deletionPolicy, "Retain", "data outlives its group only when retained");
  }

  /** What must be true when everybody has done all they can. */
  checkEnd(): void {
    if (this.group === undefined) {
      assert.equal(this.snapshots.size, 0, "no member outlives its group");
      if (this.content === undefined) assert.equal(this.contents.size, 0);
      return;
    }
    assert.equal(this.group.status?.readyToUse, true);
    assert.equal(this.snapshots.size, 2);
    assert.equal(this.contents.size, 2);
  }

  #view(): GroupSnapshotView {
    const { content, group } = this;
    const members =
      group === undefined || content === undefined
        ? []
        : membersOf(group, content, {
            content: (name) => this.contents.get(name),
            snapshot: (_namespace, name) => this.snapshots.get(name),
            imported: () => [],
          });
    return {
      driver: DRIVER,
      capable: true,
      group,
      content,
      groupClass: groupClass(),
      classes: [],
      candidates: content === undefined ? this.candidates : [],
      members,
      owned: { snapshots: [...this.snapshots.values()], contents: [...this.contents.values()] },
      orphans: { snapshots: [], contents: [] },
      now: "2026-01-01T00:00:00Z",
      patienceMs: 0,
      backoffMs: 0,
    };
  }

  #apply(step: GroupSnapshotStep, keep: number): void {
    const { content, group } = this;
    if (step.do === "write-members") {
      for (const write of keep === 0 ? step.writes : step.writes.slice(0, keep)) this.#write(write);
      return;
    }
    if (group === undefined) return;
    if (step.do === "add-finalizer") {
      const finalizers = [...(group.metadata.finalizers ?? []), GROUP_FINALIZER];
      this.group = { ...group, metadata: { ...group.metadata, finalizers } };
    }
    if (step.do === "create-content") {
      assert.ok(hasFinalizer(group, GROUP_FINALIZER), "the finalizer comes before what it protects");
      this.content = step.content;
    }
    if (step.do === "write-status") this.group = { ...group, status: step.status };
    if (step.do === "mark-being-deleted" && content !== undefined)
      this.content = applyMergePatch(content, {
        metadata: { annotations: { [GROUP_BEING_DELETED]: "yes" } },
      }) as VolumeGroupSnapshotContent;
    if (step.do === "delete-content" && content !== undefined) this.content = deleted(content);
    if (step.do === "release") {
      this.group = undefined;
      assert.ok(isDeleting(group));
    }
  }

  #write(write: MemberWrite): void {
    switch (write.write) {
      case "create-content":
        this.#create(this.contents, write.content);
        break;
      case "create-snapshot":
        this.#create(this.snapshots, write.snapshot);
        break;
      case "patch-content":
        this.#patch(this.contents, write.content, write.body);
        break;
      case "patch-snapshot":
        this.#patch(this.snapshots, write.snapshot, write.body);
        break;
      case "content-status":
        this.#patch(this.contents, write.content, { status: write.status });
        break;
      case "snapshot-status":
        this.#patch(this.snapshots, write.snapshot, { status: write.status });
        break;
      case "delete-content":
        this.#put(this.contents, write.content.metadata.name, deleted(write.content));
        break;
      case "delete-snapshot":
        assert.ok(hasFinalizer(write.snapshot, SNAPSHOT_IN_GROUP_FINALIZER));
        this.#put(this.snapshots, write.snapshot.metadata.name, deleted(write.snapshot));
        break;
    }
  }

  #create<T extends KubeObject>(kind: Map<string, T>, object: T): void {
    const { name } = object.metadata;
    assert.ok(!kind.has(name), `${name} is created once`);
    kind.set(name, { ...object, metadata: { ...object.metadata, uid: `uid-${this.#next++}` } });
  }

  #patch<T extends KubeObject>(kind: Map<string, T>, object: T, body: object): void {
    this.#put(kind, object.metadata.name, applyMergePatch(object, body) as T);
  }

  /** An object under deletion without finalizers is gone. */
  #put<T extends KubeObject>(kind: Map<string, T>, name: string, object: T): void {
    if (isDeleting(object) && (object.metadata.finalizers ?? []).length === 0) kind.delete(name);
    else kind.set(name, object);
  }

  /** First created, then ready, then, when it is deleted, gone. */
  #driver(): boolean {
    const { content } = this;
    if (content === undefined) return false;
    if (isDeleting(content)) {
      assert.ok(content.metadata.annotations?.[GROUP_BEING_DELETED] !== undefined);
      for (const snapshot of this.snapshots.values())
        assert.ok(!hasFinalizer(snapshot, SNAPSHOT_SOURCE_FINALIZER), "no restore is interrupted");
      this.exists = content.spec.deletionPolicy === "Retain" && this.exists;
      this.content = undefined;
      return true;
    }
    const ready = content.status !== undefined;
    if (content.status?.readyToUse === true) return false;
    this.exists = true;
    const members = (content.spec.source.volumeHandles ?? []).map((volumeHandle) => ({
      volumeHandle,
      snapshotHandle: `s-${volumeHandle}`,
      readyToUse: ready,
    }));
    const status = {
      volumeGroupSnapshotHandle: "g",
      readyToUse: ready,
      volumeSnapshotInfoList: members,
    };
    this.content = { ...content, status };
    return true;
  }

  #deleteGroup(): void {
    if (this.group === undefined) return;
    this.group = hasFinalizer(this.group, GROUP_FINALIZER) ? deleted(this.group) : undefined;
  }

  #retain(): void {
    const { content } = this;
    if (content === undefined || isDeleting(content)) return;
    this.content = { ...content, spec: { ...content.spec, deletionPolicy: "Retain" } };
  }

  #touchMember(what: "delete-member" | "lose-member" | "restore", index: number): void {
    const [name, snapshot] = [...this.snapshots][index] ?? [];
    if (name === undefined || snapshot === undefined) return;
    if (what === "lose-member") this.snapshots.delete(name);
    else if (what === "delete-member") this.#put(this.snapshots, name, deleted(snapshot));
    else if (!isDeleting(snapshot)) {
      const finalizers = [...(snapshot.metadata.finalizers ?? []), SNAPSHOT_SOURCE_FINALIZER];
      this.#put(this.snapshots, name, { ...snapshot, metadata: { ...snapshot.metadata, finalizers } });
    }
  }
}

function deleted<T extends KubeObject>(object: T): T {
  return { ...object, metadata: { ...object.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" } };
}

function drop<T extends KubeObject>(object: T, finalizer: string): T {
  const finalizers = (object.metadata.finalizers ?? []).filter((each) => each !== finalizer);
  return { ...object, metadata: { ...object.metadata, finalizers } };
}

function candidate(name: string): Candidate {
  const own = claim(name, { volumeName: `pv-${name}` }, {}, { phase: "Bound" });
  const claimRef = { namespace: "default", name, uid: `uid-${name}` };
  return { claim: own, volume: persistentVolume(`pv-${name}`, { claimRef }) };
}
