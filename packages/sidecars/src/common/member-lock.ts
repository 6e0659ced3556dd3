import type { PersistentVolumeClaim } from "@mooring/store";
import type { VolumeGroup } from "../kube/volume-group.ts";
import { MEMBER_OF } from "./volume-group-names.ts";

/** Whose member a claim is. The handle stays known when the PersistentVolume is lost. */
interface Lock {
  name: string;
  uid: string;
  handle: string;
}

/** Handles may contain anything, so they come last. */
const LOCK = /^([^/]+)\/([^/]+)\/(.+)$/s;

/** The group that keeps a claim, by its annotation; undefined: none. */
export function lockOf({ metadata }: PersistentVolumeClaim): Lock | undefined {
  const [, name, uid, handle] = LOCK.exec(metadata.annotations?.[MEMBER_OF] ?? "") ?? [];
  return name === undefined || uid === undefined || handle === undefined ? undefined : { name, uid, handle };
}

/** The annotation with which a group keeps a claim while its volume, `handle`, is a member. */
export function lockFor({ metadata }: VolumeGroup, handle: string): string {
  return `${metadata.name}/${metadata.uid}/${handle}`;
}
