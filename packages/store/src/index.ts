export { EventRecorder, type EventRecorderOptions, type EventSubject } from "./controller/event-recorder.ts";
export { type EventExpiryOptions, startEventExpiry } from "./controller/expire-events.ts";
export * from "./controller/finalizers.ts";
export { getIfAny } from "./controller/get-if-any.ts";
export * from "./controller/informer.ts";
export { acquireLease, type HeldLease, type LeaseOptions } from "./controller/lease.ts";
export { listAll } from "./controller/list-all.ts";
export { managedBy } from "./controller/managed-by.ts";
export { type MutateOptions, mutate, type RetryOptions, retryOnConflict } from "./controller/mutate.ts";
export { openInformers } from "./controller/open-informers.ts";
export { type Durations, QUEUE_BOUNDS, type QueueCounts } from "./controller/queue-counts.ts";
export { RecentMap } from "./controller/recent-map.ts";
export * from "./controller/reconciler/index.ts";
export { waitFor } from "./controller/wait-for.ts";
export { WorkQueue, type WorkQueueOptions } from "./controller/work-queue.ts";
export { WrittenCache } from "./controller/written-cache.ts";
export type { JsonStore } from "./json-store.ts";
export * from "./kinds/group-snapshot.ts";
export * from "./kinds/kubernetes.ts";
export * from "./kinds/snapshot.ts";
export * from "./kinds/workloads.ts";
export { checkStore, type StoreReport } from "./local/check/check-store.ts";
export type { Damage } from "./local/check/damage.ts";
export { copyFolder } from "./local/copies/copy-of-running.ts";
export { type Restored, restoreStore } from "./local/copies/restore.ts";
export { type StateCopiesOptions, startStateCopies } from "./local/copies/rotate.ts";
export { copiesFolder, copyName, listCopies, type StateCopy } from "./local/copies/state-copies.ts";
export type { DiskFault } from "./local/disk-faults.ts";
export { diskFull, diskRoom } from "./local/disk-room.ts";
export { isOlder, storeFile, syncFolder } from "./local/files.ts";
export type { JsonList, JsonListEnd } from "./local/list.ts";
export { LocalStore, type LocalStoreOptions } from "./local/local-store.ts";
export { lockFolder } from "./local/lock.ts";
export { StoreOpenError, type StoreOpenReason } from "./local/open-error.ts";
export * from "./local/registry.ts";
export type { JsonWatchEvent } from "./local/watch.ts";
export type { AdmittedWrite } from "./local/writer.ts";
export * from "./object/defined.ts";
export { describeBytes } from "./object/describe-bytes.ts";
export * from "./object/errors.ts";
export * from "./object/meta.ts";
export * from "./object/owners.ts";
export * from "./object/quantity.ts";
export * from "./object/resource.ts";
export * from "./object/sha256.ts";
export * from "./object/status-error.ts";
export * from "./object-store.ts";
export { applyJsonPatch } from "./patch/json-patch.ts";
export { applyMergePatch, createMergePatch } from "./patch/merge-patch.ts";
export { AccessError, type ClusterAccess, type TlsAccess } from "./rest/access.ts";
export { inClusterAccess, isInCluster } from "./rest/in-cluster.ts";
export { defaultKubeconfigPath, kubeconfigAccess } from "./rest/kubeconfig.ts";
export { isStatusObject, statusFromObject } from "./rest/response-error.ts";
export { RestStore, type RestStoreOptions } from "./rest/rest-store.ts";
export { ifNeverBegun } from "./runtime/abandon.ts";
export { keepHeapSmall, trimHeap } from "./runtime/c-heap.ts";
export { isDiskFull, isOutOfInodes, naming, unlessReadOnly, writeFailure } from "./runtime/disk-errors.ts";
export { type EventuallyOptions, eventually, WaitedInVain } from "./runtime/eventually.ts";
export * from "./runtime/failpoint.ts";
export { type ExpectedKind, FileKindError, fileKind, requireKind } from "./runtime/file-kind.ts";
export { collectWhenIdle } from "./runtime/idle-memory.ts";
export { allInParallel } from "./runtime/in-parallel.ts";
export { KeyedLock } from "./runtime/keyed-lock.ts";
export * from "./runtime/logger.ts";
export { FolderError, makeFolder } from "./runtime/make-folder.ts";
export { msLeft } from "./runtime/ms-left.ts";
export { punchHole } from "./runtime/punch-hole.ts";
export { replaceFile } from "./runtime/replace-file.ts";
export { nextSlice, sliceLasts } from "./runtime/slices.ts";
export { keepGarbageSmall } from "./runtime/small-garbage.ts";
export {
  allowManyListeners,
  type BackoffOptions,
  backoffMs,
  delay,
  firstOf,
  orAborted,
  timerMs,
  within,
  withTimeLimit,
} from "./runtime/wait.ts";
export * from "./select/field-selector.ts";
export * from "./select/label-selector.ts";
export { allowsTopology, selectsNode } from "./select/node-selector.ts";
export { isLabelKey, isLabelValue } from "./select/parse-labels.ts";
export * from "./select/requirement.ts";
export type { StoreLink } from "./thread/protocol.ts";
export { type ServeStoreOptions, serveStore } from "./thread/serve-store.ts";
export { ThreadStore, type ThreadStoreOptions } from "./thread/thread-store.ts";
