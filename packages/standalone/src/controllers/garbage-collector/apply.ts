import {
  DONE,
  defined,
  type EventRecorder,
  failpoint,
  isConflict,
  isNotFound,
  type KubeObject,
  mutate,
  type ObjectStore,
  type OwnerReference,
  type Resource,
  unsetFinalizer,
} from "@mooring/store";
import type { Step } from "./decide.ts";
import type { ForeignReports } from "./foreign-reports.ts";
import type { GraphNode } from "./graph.ts";
import { objectKey, ownersOf } from "./identity.ts";

/** Dependents are released side by side: a process may end with some of them done. */
const dependentReleased = failpoint("standalone/garbage-collector/dependent-released");

/** What the steps are made with. */
export interface ApplyContext {
  store: ObjectStore;
  events: EventRecorder;
  signal: AbortSignal;
  reported: ForeignReports;
  /** The node of an identity; undefined when it has left the graph. */
  nodeOf(uid: string): GraphNode | undefined;
  /** Reads this one again. */
  touch(uid: string): void;
  /** Records what was written before the watch delivers it. */
  observed(resource: Resource, object: KubeObject): void;
}

type ActiveStep = Exclude<Step, { do: "done" }>;

/**
 * Makes one step. An object that has gone or changed meanwhile is for the next read, and the events of what was done bring
 * the next step.
 */
export async function apply(
  step: ActiveStep,
  node: GraphNode,
  context: ApplyContext,
): Promise<typeof DONE | undefined> {
  try {
    await applyOnce(step, node, context);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  return step.do === "release-dependents" || step.do === "report-foreign-owners" ? undefined : DONE;
}

async function applyOnce(step: ActiveStep, node: GraphNode, context: ApplyContext): Promise<void> {
  switch (step.do) {
    case "report-foreign-owners":
      for (const reference of step.references) reportForeign(node, reference, context);
      return;
    case "collect-dependents":
      for (const uid of step.uids) context.touch(uid);
      return;
    case "remove-finalizer":
      await change(context, node, (object) => void unsetFinalizer(object, step.finalizer));
      return;
    case "drop-references":
      await change(context, node, (object) => dropReferences(object, step.uids));
      return;
    case "unblock":
      await change(context, node, (object) => unblock(object, step.uids));
      return;
    case "release-dependents": {
      const owner = node.object.metadata.uid;
      await Promise.all(step.dependents.map(({ metadata }) => release(metadata.uid, owner, context)));
      return;
    }
    case "delete":
      return remove(step.policy, node, context);
  }
}

function reportForeign(
  { object }: GraphNode,
  reference: OwnerReference,
  { events, reported }: ApplyContext,
): void {
  const { apiVersion, kind, name, uid } = reference;
  const namespace = object.metadata.namespace ?? "";
  const owner = `[${apiVersion}/${kind}, namespace: ${namespace}, name: ${name}, uid: ${uid}]`;
  const where = `does not exist in namespace ${JSON.stringify(namespace)}`;
  events.event(object, "Warning", "OwnerRefInvalidNamespace", `ownerRef ${owner} ${where}`);
  reported.note(object.metadata.uid, uid);
}

/** A dependent that is gone needs no release. */
async function release(uid: string, owner: string, context: ApplyContext): Promise<void> {
  const dependent = context.nodeOf(uid);
  if (dependent === undefined) return;
  try {
    await change(context, dependent, (object) => dropReferences(object, [owner]));
    dependentReleased();
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

async function remove(
  policy: "Foreground" | "Background" | "Orphan",
  { resource, object }: GraphNode,
  { store, signal }: ApplyContext,
): Promise<void> {
  const { uid, resourceVersion } = object.metadata;
  const preconditions = { uid, ...defined({ resourceVersion }) };
  try {
    await store.delete(resource, objectKey(object), { propagationPolicy: policy, preconditions, signal });
  } catch (error) {
    // Another client wrote it after we read it, perhaps to give it another owner: read again.
    if (isConflict(error)) return;
    throw error;
  }
}

/** Changes the object that `node` stands for, and no other of its name. */
async function change(
  { store, signal, observed }: ApplyContext,
  { resource, object }: GraphNode,
  fn: (object: KubeObject) => void,
): Promise<void> {
  const { uid } = object.metadata;
  const guarded = (current: KubeObject) => {
    if (current.metadata.uid === uid) fn(current);
  };
  observed(
    resource,
    await mutate<KubeObject>(store, resource, objectKey(object), { change: guarded, signal }),
  );
}

function dropReferences(object: KubeObject, uids: readonly string[]): void {
  const kept = ownersOf(object).filter(({ uid }) => !uids.includes(uid));
  if (kept.length === 0) delete object.metadata.ownerReferences;
  else object.metadata.ownerReferences = kept;
}

function unblock(object: KubeObject, uids: readonly string[]): void {
  for (const reference of ownersOf(object)) {
    if (uids.includes(reference.uid)) reference.blockOwnerDeletion = false;
  }
}
