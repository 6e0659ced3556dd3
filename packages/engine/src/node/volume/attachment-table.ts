import type { VolumeState } from "../../api/volume.ts";

/** A node as this agent sees it. */
export type Place = "nowhere" | "here" | "elsewhere";

/** The states in which a volume's device is opened and closed. */
export type AttachmentState = Exclude<VolumeState, "creating" | "deleting">;

/** What the attachment machine does next. `keep`: keep the device open; `rest`: keep it closed. */
export type AttachmentAction = "begin-attach" | "open" | "keep" | "begin-detach" | "close" | "rest";

type Row = Readonly<Record<AttachmentState, AttachmentAction>>;

/** No pod and no job is to have the volume here: away from every state, through `detaching`. */
const LEAVE: Row = {
  detached: "begin-detach",
  attaching: "begin-detach",
  attached: "begin-detach",
  detaching: "close",
};

/** The data is on this node, so a wish for another node is no wish that could be met. */
const UNWANTED: Readonly<Record<Place, Row>> = {
  nowhere: { ...LEAVE, detached: "rest" },
  here: LEAVE,
  elsewhere: LEAVE,
};

/**
 * `spec.nodeID` (wanted), `status.currentNodeID` (current) and `status.state` -> action. Every combination is here;
 * each leads to `attached` with current = wanted, or to `detached` with current empty. The current node is set only
 * when the device is open and cleared only when it is closed; a move from node to node goes through `detached`.
 */
export const ATTACHMENT_TABLE: Readonly<Record<Place, Readonly<Record<Place, Row>>>> = {
  nowhere: UNWANTED,
  elsewhere: UNWANTED,
  here: {
    nowhere: { detached: "begin-attach", attaching: "open", attached: "begin-detach", detaching: "close" },
    here: { detached: "begin-detach", attaching: "begin-detach", attached: "keep", detaching: "close" },
    elsewhere: LEAVE,
  },
};

/** Where a node is, seen from this one. */
export function placeOf(node: string | undefined, thisNode: string): Place {
  if (node === undefined || node === "") return "nowhere";
  return node === thisNode ? "here" : "elsewhere";
}
