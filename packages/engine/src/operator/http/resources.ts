import type { Condition } from "@mooring/store";
import type { AttacherType, AttachmentTicket } from "../../api/attachment.ts";
import type { Volume, VolumeState } from "../../api/volume.ts";

/** A ticket. `satisfied` and `conditions` are left out where only the ticket itself is known. */
export interface TicketResource {
  attachmentID: string;
  attachmentType: AttacherType;
  nodeID: string;
  parameters: Record<string, string>;
  satisfied?: boolean;
  conditions?: Condition[];
  owner?: NonNullable<AttachmentTicket["owner"]>;
  createdAt?: string;
  expiresAt?: string;
}

/** All tickets of a volume, by id. */
export interface AttachmentsResource {
  volume: string;
  attachments: Record<string, TicketResource>;
}

/** A node that has a volume open, or is about to. */
export interface ControllerResource {
  hostId: string;
  /** The device; empty without one. */
  endpoint: string;
  running: boolean;
}

/** A volume as clients of the REST API expect it. */
export interface VolumeResource {
  id: string;
  type: "volume";
  name: string;
  created: string;
  /** Bytes, decimal. */
  size: string;
  accessMode: Volume["spec"]["accessMode"];
  migratable: boolean;
  state: VolumeState;
  robustness: "unknown" | "healthy" | "faulted";
  ready: boolean;
  frontend: "blockdev";
  disableFrontend: boolean;
  lastAttachedBy: string;
  nodeID: string;
  ownerID: string;
  controllers: ControllerResource[];
  error: { code: string; message: string } | null;
  volumeAttachment: AttachmentsResource;
  links: { self: string };
  /** Where each action is posted to, by name. */
  actions: Record<string, string>;
}

/**
 * A snapshot as clients of the REST API expect it. Snapshots stand on their own, so there are no `parent` and `children`;
 * a checksum of the data is not kept.
 */
export interface SnapshotResource {
  id: string;
  type: "snapshotCR";
  name: string;
  /** Name of the Snapshot object. */
  object: string;
  volume: string;
  crCreationTime: string;
  markRemoved: boolean;
  /** False: a recurring job has made it. */
  userCreated: boolean;
  creationTime: string;
  /** Bytes, as `restoreSize`. */
  size: number;
  restoreSize: number;
  labels: Record<string, string>;
  ownerID: string;
  /** `CODE: message`; empty without one. */
  error: string;
  readyToUse: boolean;
}

/** A list in the form that clients of this API expect. */
export interface CollectionResource<T> {
  type: "collection";
  resourceType: string;
  links?: { self: string };
  data: T[];
}

/** A refusal. */
export interface ErrorResource {
  type: "error";
  status: number;
  code: string;
  message: string;
  reason?: string;
  /** What an operator can do about it. */
  detail?: string;
  /** Tickets that are in the way. */
  blockedBy?: TicketResource[];
}
