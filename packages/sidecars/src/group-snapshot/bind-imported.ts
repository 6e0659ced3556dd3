import type {
  VolumeGroupSnapshot,
  VolumeGroupSnapshotClass,
  VolumeGroupSnapshotContent,
} from "@mooring/store";
import { secretAnnotations } from "../group-snapshot-content/secrets.ts";
import { TemplateError } from "../secrets/references.ts";
import { type GroupSnapshotStep, report } from "./view.ts";

/** Binds a group that was brought in, and keeps on its content which secrets the class names. What the administrator has set wins. */
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

function pick(values: Record<string, string> = {}, keys: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter(([key]) => keys.includes(key)));
}
