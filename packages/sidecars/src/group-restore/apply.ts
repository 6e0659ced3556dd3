import { failpoint, isStatus, keyOf, PersistentVolumeClaims } from "@mooring/store";
import type { Backoff } from "../common/backoff.ts";
import type { SidecarContext } from "../common/context.ts";
import type { VolumeGroupRestore } from "../kube/group-restore.ts";
import { patchStatus } from "../kube/patch.ts";
import { VolumeGroups } from "../volume-group/api.ts";
import type { GroupRestoreStep } from "./decide.ts";
import { REFUSED_GROUP } from "./into-group.ts";

const failpoints = {
  planned: failpoint("sidecars/group-restore/status-written"),
  grouped: failpoint("sidecars/group-restore/group-created"),
  created: failpoint("sidecars/group-restore/claim-created"),
};

/** Claims that the API server does not take (a quota, a rule of the cluster), by restore. */
export class Refusals {
  readonly #messages = new Map<string, Map<string, string>>();
  readonly #backoff: Backoff;

  constructor(backoff: Backoff) {
    this.#backoff = backoff;
  }

  note(uid: string, claimName: string, message: string): void {
    this.#messages.set(uid, new Map(this.#messages.get(uid)).set(claimName, message));
    this.#backoff.fail(uid, "");
  }

  of(uid: string): { refused: ReadonlyMap<string, string>; backoffMs: number } {
    return { refused: this.#messages.get(uid) ?? new Map(), backoffMs: this.#backoff.remaining(uid, "") };
  }

  forget(uid: string): void {
    this.#messages.delete(uid);
    this.#backoff.reset(uid);
  }
}

/** Makes one change. */
export async function applyGroupRestore(
  { cluster, events, store }: SidecarContext,
  refusals: Refusals,
  restore: VolumeGroupRestore,
  step: GroupRestoreStep,
): Promise<void> {
  if (step.do === "write-status") {
    await patchStatus(store, cluster.groupRestores, restore, step.status);
    if (step.event !== undefined)
      events.event(restore, step.event.type, step.event.reason, step.event.message);
    return failpoints.planned();
  }
  const uid = restore.metadata.uid ?? keyOf(restore);
  if (step.do === "create-group") {
    const { name } = step.group.metadata;
    return unlessRefused(refusals, { uid, name: `${REFUSED_GROUP}${name}` }, async () => {
      cluster.volumeGroups.wrote(await store.create(VolumeGroups, step.group));
      failpoints.grouped();
    });
  }
  await unlessRefused(refusals, { uid, name: step.claim.metadata.name }, async () => {
    cluster.claims.wrote(await store.create(PersistentVolumeClaims, step.claim));
    failpoints.created();
  });
}

/** What a quota or a rule of the cluster forbids is noted, and tried again later. */
async function unlessRefused(
  refusals: Refusals,
  { name, uid }: { name: string; uid: string },
  create: () => Promise<void>,
): Promise<void> {
  try {
    await create();
  } catch (error) {
    if (!isStatus(error, "Forbidden", "Invalid", "BadRequest")) throw error;
    refusals.note(uid, name, error.message);
  }
}
