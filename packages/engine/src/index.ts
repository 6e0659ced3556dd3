export * from "./api/attachment.ts";
export * from "./api/faults.ts";
export * from "./api/group-revert.ts";
export * from "./api/group-snapshot.ts";
export * from "./api/image-features.ts";
export * from "./api/kinds.ts";
export * from "./api/names.ts";
export * from "./api/node-agent.ts";
export { pendingExpansion, pendingRestore } from "./api/pending.ts";
export * from "./api/pool.ts";
export * from "./api/recurring-job.ts";
export * from "./api/remount.ts";
export * from "./api/salvage.ts";
export * from "./api/share-manager.ts";
export * from "./api/snapshot.ts";
export * from "./api/volume.ts";
export * from "./api/volume-set.ts";
export { decide } from "./cluster/arbiter/decide.ts";
export { type Arbiter, type ArbiterOptions, startArbiter } from "./cluster/arbiter/index.ts";
export type * from "./cluster/arbiter/view.ts";
export { SHUT_OUT_BY_CLUSTER, WAITS } from "./cluster/arbiter/waits.ts";
export { type FencingOptions, OUT_OF_SERVICE, startFencing } from "./cluster/fencing/index.ts";
export { type GroupRevertOptions, startGroupReverts } from "./cluster/group-revert/index.ts";
export { type Services, type ServicesOptions, startServices } from "./cluster/services/index.ts";
export { type JobView, jobFinished } from "./cluster/services/tickets/job-finished.ts";
export * from "./errors.ts";
export { createHost } from "./host/create-host.ts";
export { majorMinor } from "./host/device-numbers.ts";
export { setDeviceReadOnly } from "./host/device-read-only.ts";
export { failRequests } from "./host/fail-requests.ts";
export * from "./host/filesystems.ts";
export type * from "./host/host.ts";
export { mountFault } from "./host/mount-fault.ts";
export { isReadOnly } from "./host/mounts.ts";
export { removeTree } from "./host/remove-tree.ts";
export { isGivenAway } from "./leases/given-away.ts";
export { LEASE_TIMES, type LeaseTimes } from "./leases/image-leases.ts";
export { NodeInUse } from "./node/heartbeat/node-claim.ts";
export { type Agent, startAgent } from "./node/index.ts";
export { type FindLeaksOptions, findLeaks } from "./node/leaks/find-leaks.ts";
export type { ExplainMount, Leak, LeakKind } from "./node/leaks/leak.ts";
export type { AgentOptions, AgentPool } from "./node/options.ts";
export { layoutOf } from "./node/pool/layout-of.ts";
export { sharePath } from "./node/share/layout.ts";
export { parseNetwork } from "./node/share/trusted-networks.ts";
export {
  type FilesystemContext,
  forgetIntention,
  growOnline,
  intendFilesystem,
  mountOptions,
  type Prepared,
  prepareFilesystem,
  recordFormatted,
} from "./node/volume/filesystem.ts";
export { attachVolume } from "./operator/attach.ts";
export { BlockedByTickets } from "./operator/blocked.ts";
export { detachVolume } from "./operator/detach.ts";
export { handleVolumes } from "./operator/http/handle.ts";
export type { RestContext, RestRequest } from "./operator/http/request.ts";
export type * from "./operator/http/resources.ts";
export type { AttachRequest, DetachRequest } from "./operator/request.ts";
export type * from "./pools/backend.ts";
export { DEFAULT_POOL_BYTES } from "./pools/backing-file.ts";
export {
  type BudgetRules,
  DEFAULT_OVERCOMMIT,
  DEFAULT_RESERVE_FRACTION,
  largestVolume,
} from "./pools/budget.ts";
export { createPool, type PoolOptions } from "./pools/create-pool.ts";
export { type ImageMap, imageMap } from "./pools/image-map.ts";
export { type PoolLayout, poolLayout } from "./pools/layout.ts";
export { noSectorSizeArguments, sectorSizeArguments } from "./pools/rbd/image-sectors.ts";
export { type CsiHandle, parseCsiHandle, uuidOfImage } from "./pools/rbd/import/csi-handle.ts";
export { runRbd } from "./pools/rbd/import/run-rbd.ts";
export type { Superblock } from "./pools/rbd/import/superblock.ts";
export * from "./pools/rbd/import/survey.ts";
export { kernelRbd } from "./pools/rbd/kernel-rbd.ts";
export { newestRevisionFile, poolBelow, poolIsIn, poolsFolder } from "./pools/remains.ts";
export { ATTACHER_RULES, type AttacherRule } from "./tickets/attacher-types.ts";
export { belongsTo, ensureAttachment, getAttachment } from "./tickets/attachment-object.ts";
export { isBetween, keptOpenOn, mayBeOpenOn } from "./tickets/exposure.ts";
export { wantsDevice } from "./tickets/frontend.ts";
export { csiTicketId, isOwnedByKubernetes } from "./tickets/kubernetes-claim.ts";
export { describeMigration, deviceOn, isMigratable } from "./tickets/migration-phase.ts";
export { findOwnersGone, ownerKinds } from "./tickets/owners.ts";
export type * from "./tickets/result.ts";
export {
  addTicket,
  editTickets,
  removeTickets,
  type TicketRequest,
  ticketStatus,
  withTicket,
} from "./tickets/tickets.ts";
