import type {
  VolumeGroupSnapshot,
  VolumeGroupSnapshotClass,
  VolumeGroupSnapshotContent,
} from "@mooring/store";
import { defined } from "@mooring/store";
import { groupContentNameFor } from "../common/group-snapshot-names.ts";
import {
  FROZEN_GROUP_PARAMETERS,
  GROUP_BEING_CREATED,
  GROUP_CONTENT_FINALIZER,
  GROUP_SOURCES,
} from "../common/names.ts";
import { groupParameters, secretAnnotations } from "../group-snapshot-content/secrets.ts";
import type { Source } from "./sources.ts";

/** The claim that a member came from, as it was when the members were chosen. */
interface RecordedSource {
  claim: string;
  mode: "Filesystem" | "Block";
}

/**
 * The content of a new group snapshot. It is born with its finalizer, with the sign that a create call may be on its
 * way, and with everything that later steps need from the class and the claims: they may be gone by then.
 */
export function groupContentFor(
  group: VolumeGroupSnapshot,
  groupClass: VolumeGroupSnapshotClass,
  sources: readonly Source[],
): VolumeGroupSnapshotContent {
  const name = groupContentNameFor(group);
  const { apiVersion, kind } = group;
  const { name: of, namespace = "", uid = "", resourceVersion } = group.metadata;
  return {
    apiVersion,
    kind: "VolumeGroupSnapshotContent",
    metadata: {
      name,
      finalizers: [GROUP_CONTENT_FINALIZER],
      annotations: {
        [GROUP_BEING_CREATED]: "yes",
        [FROZEN_GROUP_PARAMETERS]: JSON.stringify(groupParameters(groupClass.parameters ?? {})),
        [GROUP_SOURCES]: JSON.stringify(Object.fromEntries(sources.map(recordSource))),
        ...secretAnnotations(name, { name: of, namespace }, groupClass),
      },
    },
    spec: {
      volumeGroupSnapshotRef: {
        apiVersion,
        kind,
        name: of,
        namespace,
        uid,
        ...defined({ resourceVersion }),
      },
      deletionPolicy: groupClass.deletionPolicy,
      driver: groupClass.driver,
      volumeGroupSnapshotClassName: groupClass.metadata.name,
      source: { volumeHandles: sources.map(({ handle }) => handle) },
    },
  };
}

function recordSource({ claim, handle }: Source): [string, RecordedSource] {
  const mode = claim.spec?.volumeMode === "Block" ? "Block" : "Filesystem";
  return [handle, { claim: claim.metadata.name, mode }];
}

/**
 * The claims that the content was made for, by volume handle, as its annotation has them; empty without one.
 */
export function recordedSources({ metadata }: VolumeGroupSnapshotContent): Record<string, RecordedSource> {
  const record = metadata.annotations?.[GROUP_SOURCES];
  return record === undefined ? {} : (JSON.parse(record) as Record<string, RecordedSource>);
}
