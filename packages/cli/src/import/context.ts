import type { SurveyedImage, Volume } from "@mooring/engine";
import type { PersistentVolume, PersistentVolumeClaim } from "@mooring/store";
import { imageOf } from "./annotations.ts";

/** Content of an image that no PersistentVolume describes, as the operator gives it. */
export const CONTENTS = ["block", "ext4", "xfs", "btrfs"] as const;
/** One of {@link CONTENTS}. */
export type Content = (typeof CONTENTS)[number];

/** Where the image is, and what is known beside Ceph. */
export interface ImportContext {
  /** Name of Mooring's pool. */
  pool: string;
  /** `images` or `images/team-a`: before an image's name in commands. */
  where: string;
  /** PersistentVolumes of other drivers that are this image. */
  persistentVolumes: readonly PersistentVolume[];
  /** Those among them that may be an image of the same name in another cluster, and what they call theirs. */
  ofUnknownCluster: readonly { name: string; clusterID: string | undefined }[];
  /** The claim that this volume has, or is to have: the one that ceph-csi's PersistentVolume is bound to, by its name. */
  claim?: PersistentVolumeClaim;
  /** Pods that use that claim and have not ended. */
  pods: readonly string[];
  /** Other images of the pool, by name. */
  others: ReadonlySet<string>;
  /** Nodes to which VolumeAttachments of those say that it is attached. */
  attachedTo: readonly string[];
  /** For images that no PersistentVolume describes. */
  content: Content | undefined;
  /** Of the new PersistentVolume and claim; empty: none. */
  storageClass: string;
  /** What an import of this image has made already: one that was killed is gone on with. */
  made: { persistentVolume?: PersistentVolume; volume?: Volume };
}

/** The name of the Volume: the same each time, since Ceph's id of an image stays whatever its name is. */
export function importedName(pool: string, { cephID }: Pick<SurveyedImage, "cephID">): string {
  return `v-import-${pool}-${cephID}`;
}

/** The name of its PersistentVolume. */
export function importedPersistentVolume(volume: string): string {
  return volume.replace(/^v-/, "");
}

/** What the image was called before the import. */
export function nameOf({ name }: Pick<SurveyedImage, "name">, { made }: ImportContext): string {
  return (made.persistentVolume && imageOf(made.persistentVolume)) ?? name;
}

/** The PersistentVolume that describes it: the one that the import has made, else that of ceph-csi. */
export function describedBy({ made, persistentVolumes }: ImportContext): PersistentVolume | undefined {
  return made.persistentVolume ?? persistentVolumes[0];
}

/** What is said to be in it, else the file system that it begins with; undefined: neither, or nothing that Mooring has. */
export function contentOf(context: ImportContext, found?: SurveyedImage["content"]): Content | undefined {
  const described = describedBy(context);
  if (described === undefined) return context.content ?? contentNamed(found?.kind);
  if (described.spec?.volumeMode === "Block") return "block";
  // The default of ceph-csi.
  return contentNamed(described.spec?.csi?.fsType || "ext4");
}

function contentNamed(name: string | undefined): Content | undefined {
  return CONTENTS.find((known) => known === name);
}
