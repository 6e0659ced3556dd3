import { allInParallel, failpoint, isStatus, keyOf, PersistentVolumeClaims } from "@mooring/store";
import type { Backoff } from "../common/backoff.ts";
import type { SidecarContext } from "../common/context.ts";
import type { VolumeGroupRestore } from "../kube/group-restore.ts";
import { patchStatus } from "../kube/patch.ts";
import { VolumeGroups } from "../kube/volume-group.ts";
import type { GroupRestoreStep } from "./decide.ts";
import { REFUSED_GROUP } from "./into-group.ts";

const claimCreated = failpoint("sidecars/group-restore/claim-created");

/** Claims that the API server does not take (a quota, a rule of the cluster), by restore. */
export class Refusals {
  readonly #messages = new Map<string, Map<string, string>>();
  readonly #backoff: Backoff;

  constructor(backoff: Backoff) {
    this.#backoff = backoff;
  }

  /** What was refused in one attempt, by name: the next one comes after one delay, however many were refused. */
  note(uid: string, refused: ReadonlyMap<string, string>): void {
    this.#messages.set(uid, new Map([...(this.#messages.get(uid) ?? []), ...refused]));
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

/** Makes one change, or the same one for every claim: after a crash the next life makes those that are missing. */
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
    return;
  }
  const refused = new Map<string, string>();
  try {
    if (step.do === "create-group") {
      await unlessRefused(refused, `${REFUSED_GROUP}${step.group.metadata.name}`, async () => {
        cluster.volumeGroups.wrote(await store.create(VolumeGroups, step.group));
      });
    } else {
      await allInParallel(step.claims, (claim) =>
        unlessRefused(refused, claim.metadata.name, async () => {
          cluster.claims.wrote(await store.create(PersistentVolumeClaims, claim));
          claimCreated();
        }),
      );
    }
  } finally {
    if (refused.size > 0) refusals.note(restore.metadata.uid ?? keyOf(restore), refused);
  }
}

/** Notes claims that a quota or a rule of the cluster forbids, which are tried again later. */
async function unlessRefused(
  refused: Map<string, string>,
  name: string,
  create: () => Promise<void>,
): Promise<void> {
  try {
    await create();
  } catch (error) {
    if (!isStatus(error, "Forbidden", "Invalid", "BadRequest")) throw error;
    refused.set(name, error.message);
  }
}
