import assert from "node:assert/strict";
import { test } from "node:test";
import { defined } from "@mooring/store";
import type { AttacherType, VolumeAttachment } from "../../api/attachment.ts";
import { EVICTED_ANNOTATION, MOORING_API_VERSION } from "../../api/names.ts";
import type { NodeAgent } from "../../api/node-agent.ts";
import type { VolumeSpec } from "../../api/volume.ts";
import { volumeObject } from "../../testing/agent.ts";
import { reportNode } from "../../testing/report-node.ts";
import type { TicketReason } from "../../tickets/result.ts";
import { isAskedFor } from "./demand.ts";

type Ticket = [type: AttacherType, nodeID: string, reason: TicketReason];

function attachmentOf(tickets: readonly Ticket[]): VolumeAttachment {
  const attachment: VolumeAttachment = {
    ...{ apiVersion: MOORING_API_VERSION, kind: "VolumeAttachment", metadata: { name: "v-p-1" } },
    spec: { volume: "v-p-1", attachmentTickets: {} },
    status: { state: "attached", attachmentTicketStatuses: {} },
  };
  for (const [index, [type, nodeID, reason]] of tickets.entries()) {
    const id = `t${index}`;
    const satisfied = reason === "Attached";
    const condition = {
      ...{
        type: "Satisfied",
        status: satisfied ? ("True" as const) : ("False" as const),
        reason,
        message: "",
      },
      lastTransitionTime: "2026-01-01T00:00:00Z",
    };
    attachment.spec.attachmentTickets = {
      ...attachment.spec.attachmentTickets,
      [id]: { id, type, nodeID, generation: 1 },
    };
    const statuses = attachment.status?.attachmentTicketStatuses ?? {};
    statuses[id] = { id, satisfied, generation: 1, conditions: [condition] };
  }
  return attachment;
}

function agent(state: "Suspect" | "Fenced", annotations?: Record<string, string>): NodeAgent {
  const made: NodeAgent = {
    ...{ apiVersion: MOORING_API_VERSION, kind: "NodeAgent", spec: {} },
    metadata: { name: "a", ...defined({ annotations }) },
    status: { state: "Ready" },
  };
  reportNode(state)(made);
  return made;
}

interface Given {
  tickets?: readonly Ticket[];
  spec?: Partial<VolumeSpec>;
  agent?: NodeAgent;
}

function asked({ tickets = [["csi-attacher", "a", "Attached"]], spec, ...given }: Given): boolean {
  const volume = volumeObject("v-p-1", { nodeID: "a", ...spec });
  const attachment = attachmentOf(tickets);
  return isAskedFor({ volume, attachment, nodeID: "a", agent: given.agent ?? agent("Suspect") });
}

const HERE: Ticket = ["csi-attacher", "a", "Attached"];

const CASES: readonly [why: string, given: Given, expected: boolean][] = [
  ["only the lost node's own workload has it", {}, false],
  ["a workload waits for it elsewhere", { tickets: [HERE, ["csi-attacher", "b", "NodeUnfenced"]] }, true],
  ["a node that may not have it asks", { tickets: [HERE, ["csi-attacher", "b", "NodeNotReady"]] }, false],
  ["another workload of the same node", { tickets: [HERE, ["longhorn-api", "a", "NodeUnfenced"]] }, false],
  ["a snapshot waits", { tickets: [HERE, ["snapshot-controller", "b", "NodeUnfenced"]] }, false],
  [
    "a snapshot waits for another that a lost node has",
    {
      tickets: [
        ["backup-controller", "a", "Attached"],
        ["snapshot-controller", "b", "NodeUnfenced"],
      ],
    },
    true,
  ],
  ["the target of a migration", { tickets: [HERE, ["csi-attacher", "b", "Migrating"]] }, false],
  ["the migration is confirmed", { spec: { nodeID: "b" } }, true],
  ["its workload has left", { spec: { nodeID: "" } }, true],
  ["the machine is off", { agent: agent("Fenced") }, true],
  ["its pods are evicted", { agent: agent("Suspect", { [EVICTED_ANNOTATION]: "now" }) }, true],
  [
    "others use it over the network",
    { spec: { accessMode: "rwx" }, tickets: [["csi-attacher", "b", "Attached"]] },
    true,
  ],
  ["only its own node uses what it serves", { spec: { accessMode: "rwx" } }, false],
];

for (const [why, given, expected] of CASES)
  test(`a lost node's image: ${why}: ${expected ? "asked for" : "stays"}`, () => {
    assert.equal(asked(given), expected);
  });
