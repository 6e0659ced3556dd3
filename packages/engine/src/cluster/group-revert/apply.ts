import { addFinalizer, isNotFound, mutate, removeFinalizer } from "@mooring/store";
import { VolumeGroupReverts } from "../../api/group-revert.ts";
import { pendingRestore } from "../../api/pending.ts";
import { type Volume, Volumes } from "../../api/volume.ts";
import type { RevertContext } from "./context.ts";
import { REVERT_FINALIZER } from "./decide.ts";
import { isAsked, type MemberView, type RevertStep, type RevertView, requestOf } from "./view.ts";

/** Makes the change that a decision asks for: one write, or the same one for every member, each of which may be repeated. */
export async function applyRevertStep(
  context: RevertContext,
  step: RevertStep,
  view: RevertView,
): Promise<void> {
  const { store, signal, events } = context;
  const { revert } = view;
  const key = { namespace: revert.metadata.namespace ?? "", name: revert.metadata.name };
  switch (step.do) {
    case "add-finalizer":
      await addFinalizer(store, { resource: VolumeGroupReverts, key }, REVERT_FINALIZER, signal);
      return;
    case "record":
      await store.updateStatus(VolumeGroupReverts, { ...revert, status: step.status }, { signal });
      if (step.event !== undefined)
        events.event(revert, step.event.type, step.event.reason, step.status.message);
      return;
    case "request":
      await forEach(context, view, (volume, member) => {
        // An operator's own restore is waited for.
        const busy = pendingRestore(volume) !== undefined;
        if (!busy) volume.spec.restoreFrom = orderOf(view, member, false);
      });
      return;
    case "commit":
      // Conflicts when another client has written since: what was read is decided on, or nothing.
      await store.updateStatus(VolumeGroupReverts, { ...revert, status: step.status }, { signal });
      events.event(revert, "Normal", "Committed", step.status.message);
      return;
    case "order":
      await forEach(context, view, (volume, member) => {
        volume.spec.restoreFrom = orderOf(view, member, true);
      });
      return;
    case "release":
      await forEach(context, view, (volume) => {
        if (isAsked(revert, volume)) delete volume.spec.restoreFrom;
      });
      return;
    case "remove-finalizer":
      await removeFinalizer(store, { resource: VolumeGroupReverts, key }, REVERT_FINALIZER, signal);
  }
}

function orderOf(
  { revert }: RevertView,
  { snapshot }: MemberView,
  isCommitted: boolean,
): NonNullable<Volume["spec"]["restoreFrom"]> {
  const name = `${revert.metadata.namespace}/${revert.metadata.name}`;
  return { snapshot, request: requestOf(revert), revert: { name, committed: isCommitted } };
}

/** All members at once. One that is gone needs nothing. */
async function forEach(
  { store, signal }: RevertContext,
  { members }: RevertView,
  change: (volume: Volume, member: MemberView) => void,
): Promise<void> {
  const work = members.map((member) =>
    mutate(
      store,
      Volumes,
      { name: member.volume },
      { change: (volume) => change(volume, member), signal },
    ).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    }),
  );
  // All have ended before anything else is begun.
  const failed = (await Promise.allSettled(work)).find((result) => result.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}
