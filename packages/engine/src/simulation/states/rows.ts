import type { VolumeSalvage } from "../../api/faults.ts";
import type { NodeAgent } from "../../api/node-agent.ts";
import type { Volume, VolumeSpec, VolumeState, VolumeStatus } from "../../api/volume.ts";
import { decide } from "../../cluster/arbiter/decide.ts";
import type { ArbiterView } from "../../cluster/arbiter/view.ts";
import {
  ATTACHMENT_TABLE,
  type AttachmentAction,
  type AttachmentState,
  type Place,
} from "../../node/volume/attachment-table.ts";
import { newAttachment } from "../../tickets/attachment-object.ts";
import type { TicketReason } from "../../tickets/result.ts";
import { type LifeAction, liveOn } from "./life.ts";

/** The node whose agent is described, and one that is not. */
export const HERE = "here";
/** Name of the other node. */
export const ELSEWHERE = "elsewhere";

/** Where a volume can be, seen from one node. */
export const PLACES: readonly Place[] = ["nowhere", "here", "elsewhere"];
const ATTACHMENT_STATES: readonly AttachmentState[] = ["detached", "attaching", "attached", "detaching"];
/** In the order of a volume's life. */
const STATES: readonly VolumeState[] = ["creating", ...ATTACHMENT_STATES, "deleting"];

/** What tickets there are besides the row itself. */
export const CASES = {
  none: [],
  here: [HERE],
  elsewhere: [ELSEWHERE],
} as const satisfies Record<string, readonly string[]>;
/** One of the cases that are gone through. */
export type Case = keyof typeof CASES;

/** What the arbiter does to `spec.nodeID`, and the result of a ticket for the case's node. */
export interface ArbiterAction {
  spec: "keep" | "clear" | "set";
  reason: TicketReason | undefined;
}

/** One combination of `spec.nodeID`, `status.currentNodeID` and `status.state`. */
export interface StateRow {
  wanted: Place;
  current: Place;
  state: VolumeState;
  /** The agent of the node where the data is. */
  agent: AttachmentAction | LifeAction;
  arbiter: Readonly<Record<Case, ArbiterAction>>;
  /** With a ticket for the wanted node, when the volume's data fail. */
  faulted: ArbiterAction;
}

/** Every combination, from the table that the agents run and the function that the arbiter runs. */
export function stateRows(): StateRow[] {
  return PLACES.flatMap((wanted) =>
    PLACES.flatMap((current) => STATES.map((state) => rowOf(wanted, current, state))),
  );
}

function rowOf(wanted: Place, current: Place, state: VolumeState): StateRow {
  const ask = (nodes: readonly string[], more: Partial<VolumeStatus> = {}) =>
    actionOf(viewOf({ wanted, current, state }, nodes, more), nodes[0]);
  return {
    ...{ wanted, current, state },
    agent: agentOf(wanted, current, state),
    arbiter: { none: ask(CASES.none), here: ask(CASES.here), elsewhere: ask(CASES.elsewhere) },
    faulted: ask([wanted === "elsewhere" ? ELSEWHERE : HERE], { robustness: "faulted" }),
  };
}

function agentOf(wanted: Place, current: Place, state: VolumeState): StateRow["agent"] {
  if (state !== "creating" && state !== "deleting") return ATTACHMENT_TABLE[wanted][current][state];
  return liveOn(viewOf({ wanted, current, state }, []).volume, HERE).action;
}

function actionOf(view: ArbiterView, asker: string | undefined): ArbiterAction {
  const { placement, results } = decide(view);
  const spec = placement === undefined ? "keep" : placement.nodeID === "" ? "clear" : "set";
  return { spec, reason: asker === undefined ? undefined : results[asker]?.reason };
}

const FAULT: VolumeSalvage = {
  ...{ cause: "filesystem", faultedAt: "2026-01-01T00:00:00Z", state: "Faulted", message: "it has failed" },
};

const EPOCH = "1970-01-01T00:00:00Z";

const nodeOf = (place: Place): string => (place === "nowhere" ? "" : place);

/**
 * Both nodes are ready and can reach the data, and a volume is `deleting` because a user deletes it; the tickets are those
 * of workloads, named by their nodes.
 */
export function viewOf(
  { wanted, current, state }: Pick<StateRow, "wanted" | "current" | "state">,
  nodes: readonly string[],
  more: Partial<VolumeStatus> = {},
): ArbiterView {
  const spec: VolumeSpec = {
    ...{ size: 1, pool: "p", volumeMode: "Block", accessMode: "rwo" },
    nodeID: nodeOf(wanted),
  };
  const volume: Volume = {
    ...{ apiVersion: "v1", kind: "Volume", spec },
    metadata: { name: "v", uid: "u", ...(state === "deleting" ? { deletionTimestamp: EPOCH } : {}) },
    status: {
      state,
      currentNodeID: nodeOf(current),
      ...(more.robustness === "faulted" ? { salvage: FAULT } : {}),
      ...more,
    },
  };
  const { annotations: _, ...metadata } = newAttachment(volume).metadata;
  const attachment = newAttachment(volume);
  const tickets = nodes.map((nodeID) => [
    nodeID,
    { id: nodeID, type: "csi-attacher" as const, nodeID, generation: 1 },
  ]);
  return {
    volume,
    attachment: {
      ...attachment,
      metadata: { ...metadata, generation: 9 },
      spec: { volume: "v", attachmentTickets: Object.fromEntries(tickets) },
    },
    nodes: new Map([HERE, ELSEWHERE].map((name) => [name, readyNode(name)])),
    ownersGone: new Set(),
    now: new Date(0),
  };
}

function readyNode(name: string): NodeAgent {
  return { apiVersion: "v1", kind: "NodeAgent", metadata: { name }, spec: {}, status: { state: "Ready" } };
}
