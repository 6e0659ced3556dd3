import {
  type Event,
  Events,
  isNotFound,
  type KubeObject,
  type ObjectKey,
  type ObjectStore,
  type Resource,
} from "@mooring/store";
import { isKindMissing } from "../output/api-refusal.ts";
import type { Finding } from "./finding.ts";

/** What explainers read with, and how they ask about another kind. */
export interface Context {
  store: ObjectStore;
  /** `kind`: one of {@link ExplainedKind}, such as `pod`. */
  explain(kind: ExplainedKind, namespace: string, name: string): Promise<Finding>;
}

/** As much of it as reading takes. */
export type Reading = Pick<Context, "store">;

/** Kinds that lead to each other. */
export type ExplainedKind = "node" | "pvc" | "volumegroup" | "volumesnapshot";

/** The object, or undefined when it is not there. Throws when the server does not have such objects at all. */
export async function read<T extends KubeObject>(
  { store }: Reading,
  resource: Resource<T>,
  key: ObjectKey,
): Promise<T | undefined> {
  return store.get(resource, key).catch((error: unknown) => {
    if (isNotFound(error) && !isKindMissing(error)) return undefined;
    throw error;
  });
}

/** Reports only that something has failed, and comes after the warning that reports why. */
const WITHOUT_CAUSE = /^Volume provisioning failed with infeasible error\./;

/** The newest warning about an object that has a cause, if there is one; not of the reason that is left out. */
export async function lastWarning(
  { store }: Reading,
  object: KubeObject,
  leftOut?: string,
): Promise<Event | undefined> {
  const { items } = await store.list(Events, { namespace: object.metadata.namespace ?? "default" });
  const about = items.filter(
    ({ type, reason, involvedObject }) =>
      type === "Warning" && reason !== leftOut && involvedObject.uid === object.metadata.uid,
  );
  // Times are of whole seconds: within one, the warning that was written last.
  about.sort((a, b) => time(b).localeCompare(time(a)) || version(b) - version(a));
  return about.find(({ message }) => !WITHOUT_CAUSE.test(message ?? "")) ?? about[0];
}

function version({ metadata }: Event): number {
  return Number(metadata.resourceVersion ?? 0);
}

function time(event: Event): string {
  const shown = event.lastTimestamp ?? event.metadata.creationTimestamp ?? "";
  return typeof shown === "string" ? shown : String(shown);
}
