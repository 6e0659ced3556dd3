import { DONE, hasFinalizer, isDeleting, type Outcome, wait } from "@mooring/store";
import type { VolumeAttachment } from "../../api/attachment.ts";
import { ARBITER_FINALIZER } from "../../api/names.ts";
import type { Volume } from "../../api/volume.ts";
import { ticketsOf } from "../../tickets/tickets-of.ts";
import { decide } from "./decide.ts";
import type { ArbiterView } from "./view.ts";
import { type ArbiterWrite, nextWrite } from "./writes.ts";

/** What a read of one volume's tickets has found. */
export type ArbiterReading =
  /** An attachment object whose volume is not there (`lost`), or that an earlier volume of the name left. */
  | { left: VolumeAttachment; lost: boolean }
  /** A volume without attachment object. */
  | { unmade: Volume }
  | { view: ArbiterView };

/** One write of the arbiter. */
export type ArbiterStep =
  | { do: "make-attachment"; volume: Volume }
  | { do: "release-attachment"; attachment: VolumeAttachment; lost: boolean }
  | (ArbiterWrite & { view: ArbiterView });

/** The next write for one volume's tickets. Pure. */
export function nextStep(reading: ArbiterReading): ArbiterStep | Outcome {
  if ("left" in reading) return release(reading.left, reading.lost);
  if ("unmade" in reading) return { do: "make-attachment", volume: reading.unmade };
  const { view } = reading;
  const { attachment, volume } = view;
  const tickets = ticketsOf(attachment);
  // A volume that is still on a node would seem as if its ticket had been lost with the object.
  const idle = tickets.length === 0 && (volume.spec.nodeID ?? "") === "";
  if (isDeleting(attachment) && idle) return release(attachment, false);
  const decision = decide(view);
  const write = nextWrite(view, decision);
  return write === undefined ? untilNext(tickets, decision.flaps.recheckAt, view.now) : { ...write, view };
}

/** Another controller's finalizer may keep the object; its removal is a change that brings us back here. */
function release(attachment: VolumeAttachment, lost: boolean): ArbiterStep | Outcome {
  if (isDeleting(attachment) && !hasFinalizer(attachment, ARBITER_FINALIZER)) return DONE;
  return { do: "release-attachment", attachment, lost };
}

/** Until the next thing that no event reports: the end of a ticket's time, or of a backoff. */
function untilNext(
  tickets: readonly { expiresAt?: string }[],
  recheckAt: Date | undefined,
  now: Date,
): Outcome {
  const times = [...tickets.map((t) => Date.parse(t.expiresAt ?? "")), recheckAt?.getTime() ?? Number.NaN];
  const ends = times.filter((end) => !Number.isNaN(end));
  return ends.length === 0 ? DONE : wait(Math.max(1, Math.min(...ends) - now.getTime()));
}
