import type {
  PersistentVolume,
  PersistentVolumeClaim,
  VolumeSnapshot,
  VolumeSnapshotClass,
  VolumeSnapshotContent,
} from "@mooring/store";
import { defined } from "@mooring/store";
import {
  BEING_CREATED,
  CONTENT_FINALIZER,
  FROZEN_PARAMETERS,
  RESERVED_PARAMETERS,
  SNAPSHOT_MANAGED_BY,
  SNAPSHOT_SECRET_NAME,
  SNAPSHOT_SECRET_NAMESPACE,
} from "../common/names.ts";
import {
  SNAPSHOT_CLASS_ROLES,
  secretReference,
  snapshotClassTokens,
  TemplateError,
} from "../secrets/references.ts";

/** The content's name follows from the snapshot's UID, so that a second attempt meets the first. */
export function contentNameFor(snapshot: VolumeSnapshot): string {
  return `snapcontent-${snapshot.metadata.uid}`;
}

const SECRET_KEYS: ReadonlySet<string> = new Set(
  Object.values(SNAPSHOT_CLASS_ROLES).flatMap((role) => role.keys.flat()),
);
/** Keys of group snapshots, which the same class may carry. */
const GROUP_KEY = /^group-snapshotter(-get)?-secret-(name|namespace)$/;

/** What the driver gets of a snapshot class; throws for a reserved key that does not exist. */
export function snapshotParameters(parameters: Readonly<Record<string, string>>): Record<string, string> {
  const kept = Object.entries(parameters).filter(([key]) => !SECRET_KEYS.has(key));
  const reserved = kept.filter(([key]) => key.startsWith(RESERVED_PARAMETERS));
  const unknown = reserved.find(([key]) => !GROUP_KEY.test(key.slice(RESERVED_PARAMETERS.length)));
  if (unknown !== undefined)
    throw new TemplateError(
      `found unknown parameter key "${unknown[0]}" with reserved namespace csi.storage.k8s.io`,
    );
  return Object.fromEntries(kept.filter(([key]) => !key.startsWith(RESERVED_PARAMETERS)));
}

/** What a snapshot is taken of. */
interface SnapshotSource {
  claim: PersistentVolumeClaim;
  volume: PersistentVolume;
  /** The node whose driver has it, where each node's driver has its own. */
  managedBy: string | undefined;
}

/**
 * The content of a new snapshot. It is born with its finalizer, with the sign that a CreateSnapshot call may be on its
 * way, and with everything that the call needs from the class: the class may be gone when it is repeated.
 */
export function contentFor(
  snapshot: VolumeSnapshot,
  snapshotClass: VolumeSnapshotClass,
  { claim, volume, managedBy }: SnapshotSource,
): VolumeSnapshotContent {
  const name = contentNameFor(snapshot);
  const parameters = snapshotClass.parameters ?? {};
  const secret = secretReference(
    SNAPSHOT_CLASS_ROLES.snapshotter,
    parameters,
    snapshotClassTokens(name, snapshot),
  );
  const { name: of, namespace = "", uid = "", resourceVersion } = snapshot.metadata;
  const { apiVersion, kind } = snapshot;
  return {
    apiVersion,
    kind: "VolumeSnapshotContent",
    metadata: {
      name,
      finalizers: [CONTENT_FINALIZER],
      ...(managedBy === undefined ? {} : { labels: { [SNAPSHOT_MANAGED_BY]: managedBy } }),
      annotations: {
        [BEING_CREATED]: "yes",
        [FROZEN_PARAMETERS]: JSON.stringify(snapshotParameters(parameters)),
        ...(secret === undefined
          ? {}
          : { [SNAPSHOT_SECRET_NAME]: secret.name, [SNAPSHOT_SECRET_NAMESPACE]: secret.namespace }),
      },
    },
    spec: {
      volumeSnapshotRef: {
        apiVersion,
        kind,
        name: of,
        namespace,
        uid,
        ...defined({ resourceVersion }),
      },
      deletionPolicy: snapshotClass.deletionPolicy,
      driver: snapshotClass.driver,
      volumeSnapshotClassName: snapshotClass.metadata.name,
      source: { volumeHandle: volume.spec?.csi?.volumeHandle ?? "" },
      sourceVolumeMode: claim.spec?.volumeMode === "Block" ? "Block" : "Filesystem",
    },
  };
}
