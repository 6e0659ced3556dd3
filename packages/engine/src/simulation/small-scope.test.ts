import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { covers, currentPart, howMany } from "@mooring/store/testing";
import type { AttacherType, AttachmentTicket } from "../api/attachment.ts";
import { decide } from "../cluster/arbiter/decide.ts";
import { isFenced } from "../cluster/arbiter/eligible.ts";
import { FAULT, type NodeState, node, ticket, view } from "../cluster/arbiter/testing/build-view.ts";
import type { ArbiterView, Decision } from "../cluster/arbiter/view.ts";
import { placed } from "../cluster/arbiter/writes.ts";
import { ATTACHER_RULES } from "../tickets/attacher-types.ts";
import { agentStep } from "./agent.ts";
import { explore } from "./explore.ts";
import type { SimVolume } from "./model.ts";
import { checkPlacement, checkRecord, checkState } from "./safety.ts";
import { checkCalm } from "./settle.ts";
import { NODES } from "./world.ts";

/** Of all nodes; else one of their states a set of tickets. */
const EVERY_STATE = currentPart() === "deep";
/** Of all sets of tickets, the normal run takes one in so many: a prime, so that no position is always left out. */
const STRIDE = howMany({ everyday: 487, full: 151, deep: 1 });

/** Where nodes change, each set has about fifty times as many states. */
const CHANGING_STRIDE = howMany({ everyday: 9_007, full: 3_011, deep: 53 });

type Health = readonly NodeState[];
const HEALTHY: Health = ["Ready", "Ready", "Ready"];

interface State {
  volume: SimVolume;
  open: ReadonlySet<string>;
  /** Of the nodes, in their order. */
  health: Health;
}

/** Of the health of its data only whether they have failed makes a difference. */
const keyOf = ({ volume: { spec, status, opener }, open, health }: State): string => {
  const { robustness, salvage: _, ...rest } = status;
  return JSON.stringify([spec, rest, robustness === "faulted", opener, [...open], health]);
};

const without = (open: ReadonlySet<string>, nodeID: string): Set<string> =>
  new Set([...open].filter((name) => name !== nodeID));

/** One node falls silent, or is fenced, after which it has no device. */
function worse({ volume, open, health }: State): State[] {
  return NODES.flatMap((name, position): State[] => {
    const at = (state: NodeState): Health => health.with(position, state);
    if (health[position] === "Ready") return [{ volume, open, health: at("Suspect") }];
    if (health[position] === "Suspect") return [{ volume, open: without(open, name), health: at("Fenced") }];
    return [];
  });
}

/** Everything that can happen next: the arbiter, an agent, a repair, or the clean-up after a fenced. */
function nextStates(state: State, seen: Omit<ArbiterView, "volume" | "nodes">): State[] {
  const { volume, open, health } = state;
  const full: ArbiterView = { ...seen, volume, nodes: nodesOf(health) };
  const machines = { open: [...open] };
  const decision = decide(full);
  checkState(machines, full, decision);
  const next: State[] = [];
  const { placement } = decision;
  if (placement !== undefined) {
    const after: SimVolume = { ...volume, spec: placed(volume, placement).spec };
    checkPlacement(volume, after, full);
    next.push({ volume: after, open, health });
  }
  if (mayBeRepaired(volume)) {
    const { salvage: _, ...status } = volume.status;
    next.push({ volume: { ...volume, status: { ...status, robustness: "unknown" } }, open, health });
  }
  for (const nodeID of NODES) {
    if (isFenced(full, nodeID)) {
      if (volume.opener === nodeID) {
        checkRecord(machines, nodeID, "detached");
        const status = { ...volume.status, state: "detached" as const, currentNodeID: "" };
        next.push({ volume: { ...volume, status, opener: "" }, open: without(open, nodeID), health });
      }
      continue;
    }
    // Its users may be there or not, whenever the agent looks.
    const steps = [false, true].map((inUse) => agentStep(nodeID, volume, { open: open.has(nodeID), inUse }));
    for (const step of isDeepStrictEqual(steps[0], steps[1]) ? steps.slice(1) : steps) {
      if (step?.do === "record") {
        checkRecord(machines, nodeID, step.state);
        next.push({ volume: step.next, open, health });
      } else if (step?.do === "open") next.push({ volume, open: new Set([...open, nodeID]), health });
      else if (step?.do === "close") next.push({ volume, open: without(open, nodeID), health });
    }
  }
  if (next.length === 0) checkRest(state, full, decision);
  return next;
}

const views = new Map<Health, ArbiterView["nodes"]>();

function nodesOf(health: Health): ArbiterView["nodes"] {
  const known = views.get(health);
  if (known !== undefined) return known;
  const { nodes } = view({ tickets: [], nodes: NODES.map((name, index) => node(name, health[index])) });
  views.set(health, nodes);
  return nodes;
}

/** Nothing is left to do. A node that is silent may keep the volume from those who could have it. */
function checkRest({ volume, open }: State, seen: ArbiterView, { results }: Decision): void {
  const silent = (name = "") => name !== "" && seen.nodes.get(name)?.status?.state === "Suspect";
  if (silent(volume.spec.nodeID) || silent(volume.opener)) return;
  const summaries = Object.entries(results).map(([id, { satisfied, reason, message }]) => [
    id,
    { satisfied, conditions: [{ reason, message }] },
  ]);
  checkCalm(seen, Object.fromEntries(summaries), [...open]);
}

/** Where its data can be repaired: with nobody near, or in the hand of a ticket that repairs. */
function mayBeRepaired({ spec, status }: SimVolume): boolean {
  const inHand = status.state === "attached" && spec.disableFrontend === true;
  return status.robustness === "faulted" && (status.state === "detached" || inHand);
}

const types = Object.keys(ATTACHER_RULES) as AttacherType[];
const PARAMETERS = [{}, { disableFrontend: "true" }, { disableFrontend: "any" }];

/** Those that the arbiter treats by name, not only by their rule. */
const NAMED: readonly AttacherType[] = ["csi-attacher", "share-manager-controller", "salvage-controller"];

/** The first type that is the same to the arbiter. */
function standIn(type: AttacherType): AttacherType {
  const same = (other: AttacherType) =>
    JSON.stringify(ATTACHER_RULES[other]) === JSON.stringify(ATTACHER_RULES[type]);
  return NAMED.includes(type) ? type : (types.find((other) => same(other) && !NAMED.includes(other)) ?? type);
}

/** One of each kind of type, so that none is explored twice under another name. */
const KINDS = types.filter((type) => standIn(type) === type);
const CHOICES = NODES.flatMap((nodeID) => PARAMETERS.map((parameters) => ({ nodeID, parameters })));
type Choice = (typeof CHOICES)[number];

/** Every pair of kinds, then a third ticket of the first's kind; on every node, with both parameters. */
function* ticketSets(): Generator<AttachmentTicket[]> {
  const made = (id: string, type: AttacherType, { nodeID, parameters }: Choice) =>
    ticket(id, type, nodeID, { parameters: { ...parameters } });
  for (const first of KINDS) {
    for (const second of KINDS) {
      for (const x of CHOICES) {
        for (const y of CHOICES) {
          const pair = [made("x", first, x), made("y", second, y)];
          yield pair;
          for (const z of CHOICES) yield [...pair, made("z", first, z)];
        }
      }
    }
  }
}

/** Every health of three nodes, whichever is which; one that is gone is a fenced one to the arbiter. */
const NODE_STATES: readonly Health[] = [
  ["Ready", "Ready", "Ready"],
  ["Suspect", "Ready", "Ready"],
  ["Fenced", "Ready", "Ready"],
  ["Suspect", "Fenced", "Ready"],
  ["Suspect", "Suspect", "Ready"],
  ["Fenced", "Fenced", "Ready"],
  ["Suspect", "Suspect", "Suspect"],
  ["Suspect", "Suspect", "Fenced"],
  ["Suspect", "Fenced", "Fenced"],
  ["Fenced", "Fenced", "Fenced"],
];

/** False where other names for nodes of the same health give a set of tickets that comes before this one. */
function isFirstOfItsLike(tickets: readonly AttachmentTicket[], health: Health): boolean {
  const met = new Map<NodeState, number>();
  const seen = new Set<number>();
  for (const { nodeID } of tickets) {
    const place = (NODES as readonly string[]).indexOf(nodeID);
    const state = health[place] ?? "Ready";
    if (seen.has(place)) continue;
    seen.add(place);
    // Nodes of one health are met in the order of their names.
    const like = health.flatMap((other, index) => (other === state ? [index] : []));
    const next = met.get(state) ?? 0;
    if (like[next] !== place) return false;
    met.set(state, next + 1);
  }
  return true;
}

/** Where the tickets may find the volume: nowhere, and with or without its device open on each node, half-way in or out, whole or failed. */
function starts(volume: SimVolume, health: Health = HEALTHY): State[] {
  const attached = NODES.flatMap((nodeID) =>
    [false, true].flatMap((disableFrontend): State[] => {
      const spec = { ...volume.spec, nodeID, disableFrontend };
      const attached = {
        state: "attached" as const,
        currentNodeID: nodeID,
        frontendDisabled: disableFrontend,
      };
      const open = new Set([nodeID]);
      return [
        { volume: { ...volume, spec, status: attached, opener: nodeID }, open, health },
        { volume: { ...volume, spec, status: { state: "attaching" }, opener: nodeID }, open, health },
        { volume: { ...volume, status: { state: "detaching" }, opener: nodeID }, open, health },
      ];
    }),
  );
  const whole = [{ volume, open: new Set<string>(), health }, ...attached];
  const fault = { robustness: "faulted" as const, salvage: FAULT };
  const failed = whole.map(({ volume: { status, ...rest }, open }) => {
    return { volume: { ...rest, status: { ...status, ...fault } }, open, health };
  });
  return [...whole, ...failed];
}

/** A volume that may be used by many nodes is another case only where its share is asked for. */
function accessModes(tickets: readonly AttachmentTicket[]): string[] {
  return tickets.some(({ type }) => type === "share-manager-controller") ? ["rwo", "rwx"] : ["rwo"];
}

/** All that can become of a volume with these tickets; with `changing`, while nodes fall silent and are fenced. */
function exploreAll(
  tickets: AttachmentTicket[],
  health: Health,
  accessMode: string,
  changing = false,
): number {
  const { volume, nodes: _, ...seen } = view({ tickets, spec: { accessMode } });
  const idle: SimVolume = { ...volume, status: { state: "detached" }, opener: "" };
  // A fenced node has no device.
  const fenced = NODES.filter((_name, index) => health[index] === "Fenced");
  const from = starts(idle, health).map((start) => ({ ...start, open: fenced.reduce(without, start.open) }));
  return explore<State>(from, keyOf, (state) => [
    ...nextStates(state, seen),
    ...(changing ? worse(state) : []),
  ]);
}

test("every state of three nodes and up to three tickets is safe and can come to rest", (t) => {
  covers("LHA-080");
  let [sets, states] = [0, 0];
  let index = 0;
  for (const tickets of ticketSets()) {
    index += 1;
    if (index % STRIDE !== 0) continue;
    const healths = EVERY_STATE ? NODE_STATES : [NODE_STATES[index % NODE_STATES.length] ?? HEALTHY];
    for (const health of healths) {
      if (EVERY_STATE && !isFirstOfItsLike(tickets, health)) continue;
      for (const accessMode of accessModes(tickets)) {
        states += exploreAll(tickets, health, accessMode);
        sets += 1;
      }
    }
    if (index % 5000 === 0) t.diagnostic(`${index} sets of tickets, ${states} states`);
  }
  t.diagnostic(`${sets} sets of tickets and nodes, ${states} states`);
  assert.ok(states > 1000, `only ${states} states`);
});

test("so is every state while nodes fall silent and are fenced at any moment", (t) => {
  covers("LHA-080");
  let [sets, states] = [0, 0];
  let index = 0;
  for (const tickets of ticketSets()) {
    index += 1;
    if (index % CHANGING_STRIDE !== 0) continue;
    for (const accessMode of accessModes(tickets)) {
      states += exploreAll(tickets, HEALTHY, accessMode, true);
      sets += 1;
    }
  }
  t.diagnostic(`${sets} sets of tickets, ${states} states`);
  assert.ok(states > 1000, `only ${states} states`);
});

test("a node that is gone is to the arbiter what a fenced one is", () => {
  let index = 0;
  for (const tickets of ticketSets()) {
    index += 1;
    if (index % 997 !== 0) continue;
    const { volume, ...seen } = view({ tickets });
    for (const { volume: start } of starts({ ...volume, status: { state: "detached" }, opener: "" })) {
      const decided = (health: Health) => {
        const { placement, results } = decide({ ...seen, volume: start, nodes: nodesOf(health) });
        return [placement, Object.values(results).map(({ satisfied, reason }) => [satisfied, reason])];
      };
      assert.deepEqual(decided(["Gone", "Ready", "Suspect"]), decided(["Fenced", "Ready", "Suspect"]));
    }
  }
});

test("types that have the same rule are the same to the arbiter", () => {
  let index = 0;
  for (const tickets of ticketSets()) {
    index += 1;
    if (index % 997 !== 0) continue;
    const { volume, ...seen } = view({ tickets });
    for (const { volume: start } of starts({ ...volume, status: { state: "detached" }, opener: "" })) {
      const decided = decide({ ...seen, volume: start });
      for (const [position, { type }] of tickets.entries()) {
        for (const twin of types.filter((other) => other !== type && standIn(other) === type)) {
          const renamed = tickets.map((t, place) => (place === position ? { ...t, type: twin } : t));
          const other = decide({ ...view({ tickets: renamed }), volume: start });
          assert.deepEqual(other.placement, decided.placement, `${type} and ${twin}`);
        }
      }
    }
  }
});
