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

/** What explainers read with. */
export interface Context {
  store: ObjectStore;
}

/** The object, or undefined when it is not there. Throws when the server does not have such objects at all. */
export async function read<T extends KubeObject>(
  { store }: Context,
  resource: Resource<T>,
  key: ObjectKey,
): Promise<T | undefined> {
  return store.get(resource, key).catch((error: unknown) => {
    if (isNotFound(error) && !isKindMissing(error)) return undefined;
    throw error;
  });
}

/** The newest warning about an object, if there is one; not of the reason that is left out. */
export async function lastWarning(
  { store }: Context,
  object: KubeObject,
  leftOut?: string,
): Promise<Event | undefined> {
  const { items } = await store.list(Events, { namespace: object.metadata.namespace ?? "default" });
  const about = items.filter(
    ({ type, reason, involvedObject }) =>
      type === "Warning" && reason !== leftOut && involvedObject.uid === object.metadata.uid,
  );
  // Times are of whole seconds: within one, the warning that was written last.
  return about.sort((a, b) => time(b).localeCompare(time(a)) || version(b) - version(a))[0];
}

function version({ metadata }: Event): number {
  return Number(metadata.resourceVersion ?? 0);
}

function time(event: Event): string {
  const shown = event.lastTimestamp ?? event.metadata.creationTimestamp ?? "";
  return typeof shown === "string" ? shown : String(shown);
}
