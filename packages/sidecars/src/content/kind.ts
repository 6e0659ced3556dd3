import type { CsiClient } from "@mooring/csi";
import { failpoint, type KubeObject, type StepFailpoints, stepFailpoints } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import type { CallFailure } from "../csi/codes.ts";
import type { DriverInfo } from "../csi/driver-info.ts";
import type { ObjectCache } from "../kube/cache.ts";
import type { SecretRef } from "../secrets/references.ts";

/** An object that stands for a snapshot, or a group of them, on the storage system. */
interface Content extends KubeObject {
  spec: { driver: string; deletionPolicy: string };
  status?: { readyToUse?: boolean; error?: { message?: string } };
}

/** What differs in type between the kinds of contents. */
export interface ContentTypes {
  content: Content;
  /** VolumeSnapshotClass, VolumeGroupSnapshotClass. */
  contentClass: KubeObject & { parameters?: Record<string, string> };
  /** What the driver returns of the data. */
  data: object;
  /** Arguments of the call that creates the data. */
  request: { parameters: Record<string, string>; secret?: SecretRef };
  /** Arguments of the calls that inspect and delete the data. */
  target: { secret?: SecretRef };
}

/** What the driver returned last in this process, until it is written to the content's status. */
export type ContentResult<T extends ContentTypes> =
  | { kind: "data"; data: T["data"] }
  | { kind: "removed" }
  | { kind: "failed"; failure: CallFailure };

/** Everything that the next step for a content depends on. */
export interface ContentView<T extends ContentTypes> {
  /** The driver that this process stands beside: contents of others are not ours. */
  driver: string;
  content: T["content"] | undefined;
  contentClass: T["contentClass"] | undefined;
  namePrefix: string;
  result: ContentResult<T> | undefined;
  /** An earlier call may have created the data, and the driver has not confirmed or denied it. */
  mayExist: boolean;
  /** Milliseconds that the controller leaves the driver alone before the next call. */
  backoffMs: number;
}

/** One externally visible change for a content. */
export type ContentStep<T extends ContentTypes> =
  | { do: "add-finalizer" }
  /** A create call may have an effect from now on. */
  | { do: "mark-being-created" }
  /** It is known which effect it had. */
  | { do: "clear-being-created" }
  | { do: "create-data"; request: T["request"] }
  | { do: "inspect-data"; target: T["target"] }
  | { do: "write-status"; data: T["data"]; fault?: string }
  | { do: "report"; reason: string; message: string }
  | { do: "delete-data"; target: T["target"] }
  | { do: "release" };

/** What the controller was started with. */
export interface ContentOptions {
  /** Data are called `<prefix>-<uid of the snapshot>` on the storage system. */
  namePrefix: string;
  /** Sends the driver the names of the snapshot and its content. */
  extraCreateMetadata: boolean;
}

/** What a call to the driver is made with. */
export interface DriverCall {
  client: CsiClient;
  driver: DriverInfo;
  secrets: Record<string, string>;
  /** Milliseconds since the epoch. */
  nowMs: number;
  options: { signal: AbortSignal; timeoutMs: number };
}

/** The object that a content belongs to; without a UID it was never bound. */
interface ContentRef {
  name: string;
  namespace: string;
  uid?: string;
}

/** Names that a kind of contents has in the API. */
interface ContentNames {
  /** Of the controller, and the middle of its failpoints. */
  controller: string;
  finalizer: string;
  /** Annotations: a create call may have had an effect; the snapshot is being deleted; the class's parameters then. */
  beingCreated: string;
  beingDeleted: string;
  frozenParameters: string;
  /** In lower case, as messages say it. */
  className: string;
  /** Prefix of the names that a driver gets, as in `volumesnapshot/name`. */
  metadata: string;
  /** Reasons of events. */
  reasons: { creation: string; inspection: string; deletion: string };
}

/** One kind of contents: snapshots, or groups of them. All functions are pure but the three calls. */
export interface ContentKind<T extends ContentTypes> {
  names: ContentNames;
  failpoints: ContentFailpoints;
  cache(cluster: SidecarContext["cluster"]): ObjectCache<T["content"]>;
  classes(cluster: SidecarContext["cluster"]): ObjectCache<T["contentClass"]>;
  className(content: T["content"]): string | undefined;
  /** The snapshot or group that the content belongs to. */
  ref(content: T["content"]): ContentRef;
  /** Contents that another controller takes care of. */
  isForeign?(content: T["content"]): boolean;
  /** Made from volumes; else from data that exist. */
  isMade(content: T["content"]): boolean;
  /** On the storage system: from the status, else from the source. */
  handle(content: T["content"]): string | undefined;
  /** Ready, and everything about it is on record. */
  isComplete(content: T["content"]): boolean;
  /** The driver can be asked about made data by their handle; else the create call is repeated, which returns the same. */
  canInspect(content: T["content"]): boolean;
  /**
   * The mark of a create call stays when the handle is on record, which says the same: the patch that marks the content as being
   * deleted takes it away, and that is one write less. A csi-snapshotter that takes over removes it from what is ready.
   */
  markStays?: true;
  /** The driver has to say first what there is to delete. */
  lacksMembers?(content: T["content"]): boolean;
  /** What is wrong with a response. Such data are kept on record, to be deleted one day, and never get ready. */
  fault?(content: T["content"], data: T["data"]): string | undefined;
  isReady(data: T["data"]): boolean;
  /** The status after a response, but for its error. */
  status(content: T["content"], data: T["data"], fault: string | undefined): NonNullable<Content["status"]>;
  /** What the driver gets of a class's parameters; throws `TemplateError`. */
  parameters(parameters: Readonly<Record<string, string>>): Record<string, string>;
  request(content: T["content"], name: string, parameters: Record<string, string>): T["request"];
  /** The secrets that the content's annotations name. */
  secrets(content: T["content"]): unknown;
  /** Throws `TemplateError`. */
  inspectTarget(content: T["content"], contentClass: T["contentClass"] | undefined): T["target"];
  deleteTarget(content: T["content"], handle: string): T["target"];
  /** Whether a failed create call proves that there are no data. */
  provesNothingMade(failure: CallFailure, mayExist: boolean): boolean;
  create(call: DriverCall, request: T["request"]): Promise<T["data"]>;
  inspect(call: DriverCall, target: T["target"]): Promise<T["data"]>;
  remove(call: DriverCall, target: T["target"]): Promise<void>;
}

/** The failpoints of one kind of contents: behind each step, and where the driver has done what it was called for. */
export interface ContentFailpoints {
  steps: StepFailpoints<ContentStep<ContentTypes>>;
  created(): void;
  dataDeleted(): void;
}

/** Declares the failpoints `sidecars/<controller>/...`; call it at module level. */
export function contentFailpoints(controller: string): ContentFailpoints {
  const prefix = `sidecars/${controller}`;
  return {
    steps: stepFailpoints<ContentStep<ContentTypes>>(prefix, {
      ...{ "add-finalizer": true, "mark-being-created": true, "clear-being-created": true },
      ...{ "create-data": true, "inspect-data": true, "write-status": true, report: true },
      ...{ "delete-data": true, release: true },
    }),
    created: failpoint(`${prefix}/data-created`),
    dataDeleted: failpoint(`${prefix}/data-deleted`),
  };
}
