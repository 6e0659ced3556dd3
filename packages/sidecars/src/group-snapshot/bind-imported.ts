import type {
  VolumeGroupSnapshot,
  VolumeGroupSnapshotClass,
  VolumeGroupSnapshotContent,
} from "@mooring/store";
import { secretAnnotations } from "../group-snapshot-content/secrets.ts";
import { TemplateError } from "../secrets/references.ts";
import { type GroupSnapshotStep, report } from "./view.ts";

/**
 * Binds a group that was brought in, and keeps on its content which secrets the class names. What the administrator has set
 * wins.
 */
export function bindImported(
  { metadata: { name, namespace = "" }, spec }: VolumeGroupSnapshot,
  content: VolumeGroupSnapshotContent,
  groupClass: VolumeGroupSnapshotClass | undefined,
): GroupSnapshotStep {
  const className = content.spec.volumeGroupSnapshotClassName ?? spec.volumeGroupSnapshotClassName;
  try {
    const annotations =
      groupClass === undefined
        ? {}
        : secretAnnotations(content.metadata.name, { name, namespace }, groupClass);
    return {
      do: "bind-content",
      className,
      annotations: { ...annotations, ...pick(content.metadata.annotations, Object.keys(annotations)) },
    };
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    return report("GroupSnapshotBindFailed", error.message);
  }
}

/** The class came after the group was bound, so no annotation has yet which secrets it names. */
export function lacksSecrets(
  { metadata: { name, namespace = "" } }: VolumeGroupSnapshot,
  content: VolumeGroupSnapshotContent,
  groupClass: VolumeGroupSnapshotClass | undefined,
): boolean {
  if (groupClass === undefined || groupClass.metadata.name !== content.spec.volumeGroupSnapshotClassName)
    return false;
  const { annotations = {} } = content.metadata;
  try {
    const named = secretAnnotations(content.metadata.name, { name, namespace }, groupClass);
    return Object.keys(named).some((key) => annotations[key] === undefined);
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    // A group that is bound goes on as it was.
    return false;
  }
}

function pick(values: Record<string, string> = {}, keys: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter(([key]) => keys.includes(key)));
}
