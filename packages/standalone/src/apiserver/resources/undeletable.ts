import { belongsTo, type Volume, type VolumeAttachment, VolumeAttachments, Volumes } from "@mooring/engine";
import { forbidden, isNotFound, type JsonStore, type ObjectKey, type Resource } from "@mooring/store";
import type { Api } from "../api.ts";
import type { Target } from "./target.ts";

const IMMORTAL_NAMESPACES = new Set(["default", "kube-system", "kube-public"]);

/** Whether {@link requireDeletable} may throw for an object of this kind. */
export function mayRefuse({ group, plural }: Target): boolean {
  return (
    (group === "" && plural === "namespaces") ||
    (group === VolumeAttachments.group && plural === VolumeAttachments.plural)
  );
}

/** Throws Forbidden (403) for an object that no user may delete now, with what to do instead. */
export function requireDeletable({ store }: Api, target: Target, name: string): void {
  const { group, plural, resource } = target;
  const refuse = (why: string) => forbidden(resource, name, why);
  if (group === "" && plural === "namespaces" && IMMORTAL_NAMESPACES.has(name)) {
    throw refuse("this namespace may not be deleted");
  }
  if (group === VolumeAttachments.group && plural === VolumeAttachments.plural && hasVolume(store, name)) {
    throw refuse(
      `the tickets of a volume stay as long as the volume: take one back with "mooring ticket rm ${name} TICKET", or delete the volume`,
    );
  }
}

/** False also for what an earlier volume of the same name left, and while the volume is being deleted itself. */
function hasVolume(store: JsonStore, name: string): boolean {
  const attachment = find<VolumeAttachment>(store, VolumeAttachments, { name });
  const volume = find<Volume>(store, Volumes, { name });
  if (attachment === undefined || volume === undefined) return false;
  return volume.metadata.deletionTimestamp === undefined && belongsTo(attachment, volume);
}

function find<T>(store: JsonStore, resource: Resource, key: ObjectKey): T | undefined {
  try {
    return JSON.parse(store.getJson(resource, key)) as T;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
