import { addFinalizer, failpoint, isNotFound, mutate, removeFinalizer } from "@mooring/store";
import { VolumeGroupReverts } from "../../api/group-revert.ts";
import { pendingRestore } from "../../api/pending.ts";
import { type Volume, Volumes } from "../../api/volume.ts";
import type { RevertContext } from "./context.ts";
import { REVERT_FINALIZER } from "./decide.ts";
import { isAsked, type MemberView, type RevertStep, type RevertView, requestOf } from "./view.ts";

const finalizer = failpoint("engine/group-revert/finalizer-added");
const recorded = failpoint("engine/group-revert/recorded");
const asked = failpoint("engine/group-revert/volume-asked");
const committed = failpoint("engine/group-revert/committed");
const ordered = failpoint("engine/group-revert/volume-ordered");
const released = failpoint("engine/group-revert/volume-released");
const finished = failpoint("engine/group-revert/finalizer-removed");

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
      finalizer();
      return;
    case "record":
      await store.updateStatus(VolumeGroupReverts, { ...revert, status: step.status }, { signal });
      recorded();
      if (step.event !== undefined)
        events.event(revert, step.event.type, step.event.reason, step.status.message);
      return;
    case "request":
      await forEach(context, view, (volume, member) => {
        // An operator's own restore is waited for.
        const busy = pendingRestore(volume) !== undefined;
        if (!busy) volume.spec.restoreFrom = orderOf(view, member, false);
      });
      return asked();
    case "commit":
      // Conflicts when anybody has written since: what was seen is decided on, or nothing.
      await store.updateStatus(VolumeGroupReverts, { ...revert, status: step.status }, { signal });
      committed();
      events.event(revert, "Normal", "Committed", step.status.message);
      return;
    case "order":
      await forEach(context, view, (volume, member) => {
        volume.spec.restoreFrom = orderOf(view, member, true);
      });
      return ordered();
    case "release":
      await forEach(context, view, (volume) => {
        if (isAsked(revert, volume)) delete volume.spec.restoreFrom;
      });
      return released();
    case "remove-finalizer":
      await removeFinalizer(store, { resource: VolumeGroupReverts, key }, REVERT_FINALIZER, signal);
      finished();
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
