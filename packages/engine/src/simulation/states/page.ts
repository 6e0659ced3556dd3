import { WAITS } from "../../cluster/arbiter/waits.ts";
import type { AttachmentAction, Place } from "../../node/volume/attachment-table.ts";
import { ATTACHER_RULES } from "../../tickets/attacher-types.ts";
import type { LifeAction } from "./life.ts";
import { type ArbiterAction, PLACES, type StateRow, stateRows } from "./rows.ts";

const AGENT: Readonly<Record<AttachmentAction | LifeAction, string>> = {
  make: "makes the image, then records `detached`, its size and no current node",
  "begin-attach": "records `attaching`",
  open: "opens the device, then records `attached` and the current node",
  keep: "keeps the device open; shows or hides it as the spec says",
  "begin-detach": "records `detaching`",
  close: "closes the device, then records `detached` and no current node",
  rest: "nothing; a device that is open is closed",
  remove: "closes a device that is open, removes the image, then its finalizer",
};

const NODE: Readonly<Record<Place, string>> = { nowhere: "empty", here: "this node", elsewhere: "another" };
const SPEC: Readonly<Record<ArbiterAction["spec"], string>> = {
  keep: "–",
  clear: "clears it",
  set: "sets it",
};

function cell({ spec, reason }: ArbiterAction): string {
  return reason === undefined ? SPEC[spec] : `${SPEC[spec]}; \`${reason}\``;
}

const HEADER = `# Attachment states

Made by \`npm run conformance\` from the table that the agents run and the function that the arbiter runs; the tests run
the same rows. Two loops work on a volume and never on the same field:

- the **arbiter** reads tickets and writes \`spec.nodeID\`: where the volume is wanted;
- the **agent** of a node opens and closes the device and writes \`status.state\` and \`status.currentNodeID\`, which is set
  only when the device is open and cleared only when it is closed.

"This node" is the node whose agent is described. The columns of the arbiter say what it does to \`spec.nodeID\` when there
is no ticket, a workload's ticket for this node, or one for another node only, and the reason in its result. In the
last column the data have failed and there is a ticket for the wanted node. A new volume is \`creating\` until its image
is there, one that goes is \`deleting\` from the moment no ticket has it: whatever else its record says then, nothing is
placed and nothing is opened.
`;

function section(wanted: Place, rows: readonly StateRow[]): string {
  const lines = rows.map(({ current, state, agent, arbiter, faulted }) => {
    const cells = [NODE[current], `\`${state}\``, AGENT[agent], cell(arbiter.none), cell(arbiter.here)];
    return `| ${[...cells, cell(arbiter.elsewhere), cell(faulted)].join(" | ")} |`;
  });
  return [
    `## \`spec.nodeID\`: ${NODE[wanted]}`,
    "",
    "| current node | state | agent of this node | no ticket | ticket for this node | for another | data failed |",
    "| --- | --- | --- | --- | --- | --- | --- |",
    ...lines,
    "",
  ].join("\n");
}

function reasons(): string {
  const rows = Object.entries(WAITS).map(([reason, ends]) => `| \`${reason}\` | ${ends} |`);
  return ["## What ends a wait", "", "| reason | ends when |", "| --- | --- |", ...rows, ""].join("\n");
}

function types(): string {
  const yields = { never: "never", always: "always", "when-waiting": "when only waiting" } as const;
  const rows = Object.entries(ATTACHER_RULES).map(
    ([type, rule]) =>
      `| \`${type}\` | ${rule.priority} | ${rule.workload ? "yes" : "no"} | ${yields[rule.yields]} |`,
  );
  return [
    "## Types of tickets",
    "",
    "The highest priority is picked from a detached volume, then the oldest ticket (in seconds), then the shorter id, then the first in code point order.",
    "Priority never takes a volume away: only tickets that give way do that, for a workload on another node.",
    "",
    ...["| type | priority | workload | gives way |", "| --- | ---: | --- | --- |", ...rows, ""],
  ].join("\n");
}

/** docs/reference/attachment-states.md */
export function statesPage(): string {
  const rows = stateRows();
  const sections = PLACES.map((place) =>
    section(
      place,
      rows.filter(({ wanted }) => wanted === place),
    ),
  );
  return `${[HEADER, ...sections, types(), reasons()].join("\n").trimEnd()}\n`;
}
