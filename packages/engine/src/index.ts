export { mountFault } from "./agent/health/fault.ts";
export { NodeInUse } from "./agent/heartbeat/holder.ts";
export { type Agent, type AgentOptions, type AgentPool, startAgent } from "./agent/index.ts";
export { type FindLeaksOptions, findLeaks } from "./agent/leaks/find-leaks.ts";
export type { ExplainMount, Leak, LeakKind } from "./agent/leaks/leak.ts";
export { isGivenAway } from "./agent/lease/given-away.ts";
export { LEASE_TIMES, type LeaseTimes } from "./agent/lease/image-leases.ts";
export { layoutOf } from "./agent/pool/layout-of.ts";
export { sharePath } from "./agent/share/layout.ts";
export {
  type FilesystemContext,
  forgetIntention,
  growOnline,
  mountOptions,
  prepareFilesystem,
} from "./agent/volume/filesystem.ts";
export * from "./api/attachment.ts";
export * from "./api/group-snapshot.ts";
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
export { ATTACHER_RULES, type AttacherRule } from "./arbiter/attacher-types.ts";
export { belongsTo, ensureAttachment, getAttachment } from "./arbiter/attachment-object.ts";
export { decide } from "./arbiter/decide.ts";
export { wantsDevice } from "./arbiter/eligible.ts";
export { isBetween, mayBeOpenOn } from "./arbiter/exposure.ts";
export { type Arbiter, type ArbiterOptions, startArbiter } from "./arbiter/index.ts";
export { csiTicketId, isOwnedByKubernetes } from "./arbiter/kubernetes/claim.ts";
export { describeMigration, deviceOn, isMigratable } from "./arbiter/migration/phase.ts";
export { findOwnersGone, ownerKinds } from "./arbiter/owners.ts";
export {
  addTicket,
  editTickets,
  removeTickets,
  type TicketRequest,
  ticketStatus,
  withTicket,
} from "./arbiter/tickets.ts";
export type * from "./arbiter/view.ts";
export { WAITS } from "./arbiter/waits.ts";
export * from "./errors.ts";
export { type FencingOptions, OUT_OF_SERVICE, startFencing } from "./fencing/index.ts";
export { createHost } from "./host/create-host.ts";
export { majorMinor } from "./host/device-numbers.ts";
export * from "./host/filesystems.ts";
export type * from "./host/host.ts";
export { KeyedLock } from "./host/keyed-lock.ts";
export { isReadOnly } from "./host/mounts.ts";
export { attachVolume } from "./person/attach.ts";
export { BlockedByTickets } from "./person/blocked.ts";
export { detachVolume } from "./person/detach.ts";
export type { AttachRequest, DetachRequest } from "./person/request.ts";
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
export { handleVolumes, type RestContext, type RestRequest } from "./rest/handle.ts";
export type * from "./rest/resources.ts";
export { type JobView, jobOver } from "./services/hold/over.ts";
export { type Services, type ServicesOptions, startServices } from "./services/index.ts";
