import type { AttacherType, AttachmentTicket, VolumeAttachment } from "../../../api/attachment.ts";
import type { VolumeSalvage } from "../../../api/faults.ts";
import type { NodeAgent } from "../../../api/node-agent.ts";
import { nodeConditions } from "../../../api/node-conditions.ts";
import type { Volume, VolumeSpec, VolumeStatus } from "../../../api/volume.ts";
import { newAttachment } from "../../../tickets/attachment-object.ts";
import { decide } from "../decide.ts";
import type { ArbiterView } from "../view.ts";

export const NOW = new Date("2026-01-01T00:00:00Z");
export type NodeState = NonNullable<NodeAgent["status"]>["state"];

export function node(name: string, state: NodeState = "Ready"): NodeAgent {
  const conditions = nodeConditions(undefined, { state, reason: "Test", message: "" }, NOW);
  return { apiVersion: "v1", kind: "NodeAgent", metadata: { name }, spec: {}, status: { state, conditions } };
}

export function ticket(id: string, type: AttacherType, nodeID: string, more: Partial<AttachmentTicket> = {}) {
  return { id, type, nodeID, generation: 1, ...more } satisfies AttachmentTicket;
}

/** As an agent records it. */
export const FAULT: VolumeSalvage = {
  ...{ cause: "filesystem", faultedAt: NOW.toISOString(), state: "Faulted", message: "it has failed" },
};

export interface Setup {
  tickets?: AttachmentTicket[];
  spec?: Partial<VolumeSpec>;
  status?: Partial<VolumeStatus>;
  nodes?: NodeAgent[];
  ownersGone?: string[];
  deleting?: boolean;
}

/** As it is made for a detached volume. */
function kept({ finalizers = [], labels = {}, ownerReferences = [] }: VolumeAttachment["metadata"]) {
  return { finalizers, labels, ownerReferences };
}

/** What the arbiter sees: nodes a, b and c are ready and the volume is detached, unless set otherwise. */
export function view({
  tickets = [],
  spec = {},
  status = {},
  nodes,
  ownersGone = [],
  deleting,
}: Setup): ArbiterView {
  const volume: Volume = {
    apiVersion: "v1",
    kind: "Volume",
    metadata: {
      name: "v-1",
      uid: "u",
      ...(deleting === true ? { deletionTimestamp: NOW.toISOString() } : {}),
    },
    spec: { size: 1, pool: "p", volumeMode: "Filesystem", accessMode: "rwo", ...spec },
    status: { state: "detached", ...(status.robustness === "faulted" ? { salvage: FAULT } : {}), ...status },
  };
  const made = newAttachment(volume);
  const attachment: VolumeAttachment = {
    ...made,
    metadata: { name: "v-1", generation: 9, ...kept(made.metadata) },
    spec: { volume: "v-1", attachmentTickets: Object.fromEntries(tickets.map((t) => [t.id, t])) },
  };
  const agents = nodes ?? [node("a"), node("b"), node("c")];
  return {
    volume,
    attachment,
    nodes: new Map(agents.map((agent) => [agent.metadata.name, agent])),
    ownersGone: new Set(ownersGone),
    now: NOW,
  };
}

/** Where the arbiter puts the volume; empty: it is detached, undefined: it stays as it is. */
export const placed = (setup: Setup): string | undefined => decide(view(setup)).placement?.nodeID;

/** A volume on its way to a node, or there. */
export const on = (nodeID: string, state: VolumeStatus["state"] = "attached"): Setup => ({
  spec: { nodeID },
  status: state === "attached" ? { state, currentNodeID: nodeID } : { state },
});
