import {
  allInParallel,
  defined,
  failpoint,
  isAlreadyExists,
  isNotFound,
  type ObjectStore,
  type Outcome,
  removeFinalizer,
} from "@mooring/store";
import { type GroupMember, type GroupSnapshot, GroupSnapshots } from "../../../api/group-snapshot.ts";
import { ENGINE_FINALIZER, MOORING_API_VERSION } from "../../../api/names.ts";
import { type Snapshot, Snapshots } from "../../../api/snapshot.ts";
import type { NodeClaims } from "./claims.ts";
import type { CoordinatorStep } from "./view.ts";

/** Of members that one step makes or deletes at the same time. */
const memberCreated = failpoint("engine/group-snapshot/member-created");
const memberDeleted = failpoint("engine/group-snapshot/member-deleted");

interface CoordinatorContext {
  store: ObjectStore;
  signal: AbortSignal;
  /** Nodes in a barrier, by group. */
  claims: NodeClaims;
}

/** Makes the change that a decision asks for: one, or the same one for every member, each of which may be repeated. */
export async function applyGroupStep(
  { store, signal, claims }: CoordinatorContext,
  step: Exclude<CoordinatorStep, Outcome>,
  group: GroupSnapshot,
): Promise<void> {
  const { name } = group.metadata;
  switch (step.do) {
    case "add-finalizer": {
      const finalizers = [...(group.metadata.finalizers ?? []), ENGINE_FINALIZER];
      await store.update(
        GroupSnapshots,
        { ...group, metadata: { ...group.metadata, finalizers } },
        { signal },
      );
      return;
    }
    case "remove-finalizer":
      await removeFinalizer(store, { resource: GroupSnapshots, key: { name } }, ENGINE_FINALIZER, signal);
      return;
    case "resume-claim":
      return claims.resume(name, Object.keys(group.status?.nodes ?? {}));
    case "record":
      // Another group may have taken a node since we read.
      if (step.what === "quiescing" && !claims.take(name, Object.keys(group.status?.nodes ?? {}))) return;
      // Its barrier, if it was in one, was interrupted: others need not wait until it is tried again.
      if (step.what === "preparing") claims.drop(name);
      try {
        await store.updateStatus(GroupSnapshots, { ...group, status: step.status }, { signal });
      } catch (error) {
        if (step.what === "quiescing") claims.drop(name);
        throw error;
      }
      return;
    case "note":
      await store.updateStatus(GroupSnapshots, { ...group, status: step.status }, { signal });
      return;
    case "create-members":
      return allInParallel(group.spec.members, (member) => createMember(store, group, member, signal));
    case "delete-members":
      return allInParallel(group.spec.members, ({ snapshot }) =>
        deleteMember(store, group, snapshot, signal),
      );
  }
}

/** Before anything is copied: every image has a record that explains it, and whose removal removes it. */
async function createMember(
  store: ObjectStore,
  group: GroupSnapshot,
  { volume, snapshot, pool }: GroupMember,
  signal: AbortSignal,
): Promise<void> {
  const { name } = group.metadata;
  const { annotations } = group.metadata;
  const object: Snapshot = {
    apiVersion: MOORING_API_VERSION,
    kind: Snapshots.kind,
    metadata: {
      name: snapshot,
      finalizers: [ENGINE_FINALIZER],
      ...defined({ annotations }),
    },
    spec: { volume, pool, group: name },
  };
  await store.create(Snapshots, object, { signal }).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
  memberCreated();
}

async function deleteMember(
  store: ObjectStore,
  group: GroupSnapshot,
  snapshot: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    const { metadata, spec } = await store.get(Snapshots, { name: snapshot }, signal);
    if (spec.group !== group.metadata.name) return;
    const { uid = "" } = metadata;
    await store.delete(Snapshots, { name: snapshot }, { signal, preconditions: { uid } });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  memberDeleted();
}
