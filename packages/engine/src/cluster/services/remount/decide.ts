import { DONE, type Outcome } from "@mooring/store";
import type { AttachmentTicket } from "../../../api/attachment.ts";
import { remountsOwed } from "../../../api/remount.ts";
import type { Volume } from "../../../api/volume.ts";

/** A volume with a request to mount it again, and who has it. */
export interface RemountView {
  volume: Volume;
  tickets: readonly AttachmentTicket[];
}

/** The only step: the request goes. */
export type RemountStep = { do: "clear-request" };

/** A request ends once no workload has the volume mounted as it was before. Pure. */
export function decide({ volume, tickets }: RemountView): RemountStep | Outcome {
  return remountsOwed(volume, tickets).length > 0 ? DONE : { do: "clear-request" };
}
