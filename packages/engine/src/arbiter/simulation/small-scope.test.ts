import assert from "node:assert/strict";
import { test } from "node:test";
import type { AttacherType, AttachmentTicket } from "../../api/attachment.ts";
import { ATTACHER_RULES } from "../attacher-types.ts";
import { decide } from "../decide.ts";
import { isFenced } from "../eligible.ts";
import { type NodeState, node, ticket, view } from "../testing/build-view.ts";
import type { ArbiterView } from "../view.ts";
import { agentStep, type SimVolume } from "./agent.ts";
import { checkPlacement } from "./safety.ts";
import { NODES } from "./world.ts";

const DEEP = process.env["MOORING_DEEP"] === "1";
/** Of all sets of tickets, the normal run takes one in so many: a prime, so that no position is always left out. */
const STRIDE = DEEP ? 1 : 307;

interface State {
  volume: SimVolume;
  open: ReadonlySet<string>;
}

const keyOf = ({ volume, open }: State): string =>
  JSON.stringify([volume.spec, volume.status, volume.opener, [...open]]);

/** Everything that can happen next: the arbiter, an agent, or the clean-up after a fence. */
function nextStates(state: State, seen: Omit<ArbiterView, "volume">): State[] {
  const { volume, open } = state;
  const full: ArbiterView = { ...seen, volume };
  const next: State[] = [];
  const { placement } = decide(full);
  if (placement !== undefined) {
    const placed: SimVolume = { ...volume, spec: { ...volume.spec, ...placement } };
    checkPlacement(volume, placed, full);
    next.push({ volume: placed, open });
  }
  for (const nodeID of NODES) {
    if (isFenced(full, nodeID)) {
      if (volume.opener === nodeID) {
        const status = { ...volume.status, state: "detached" as const, currentNodeID: "" };
        next.push({ volume: { ...volume, status, opener: "" }, open: new Set() });
      }
      continue;
    }
    const step = agentStep(nodeID, volume, open.has(nodeID));
    if (step === undefined) continue;
    if (step.do === "record") next.push({ volume: step.next, open });
    else next.push({ volume, open: new Set(step.do === "open" ? [...open, nodeID] : []) });
  }
  return next;
}

/** All states that can be reached; every one must be safe and have a way to one where nothing is left to do. */
function explore(start: State, seen: Omit<ArbiterView, "volume">): void {
  const before = new Map<string, Set<string>>([[keyOf(start), new Set()]]);
  const rests: string[] = [];
  const todo = [start];
  for (let state = todo.pop(); state !== undefined; state = todo.pop()) {
    assert.ok(state.open.size <= 1, `S1: nodes ${[...state.open].join()} can write`);
    const from = keyOf(state);
    const nexts = nextStates(state, seen);
    if (nexts.length === 0) rests.push(from);
    for (const next of nexts) {
      const key = keyOf(next);
      if (!before.has(key)) todo.push(next);
      before.set(key, (before.get(key) ?? new Set()).add(from));
    }
  }
  assert.equal(afterSources(before), before.size, "there is a circle of states: it could go on for ever");
  const calm = new Set(rests);
  for (const key of calm) for (const earlier of before.get(key) ?? []) calm.add(earlier);
  assert.equal(calm.size, before.size, "a state is reached that never comes to rest");
}

/** How many states are left when those that nothing leads to any more are taken away, again and again: all, without a circle. */
function afterSources(before: ReadonlyMap<string, ReadonlySet<string>>): number {
  const after = new Map<string, string[]>();
  const waits = new Map([...before].map(([key, earlier]) => [key, earlier.size]));
  for (const [key, earlier] of before)
    for (const from of earlier) after.set(from, [...(after.get(from) ?? []), key]);
  const free = [...before.keys()].filter((key) => waits.get(key) === 0);
  let taken = 0;
  for (let key = free.pop(); key !== undefined; key = free.pop()) {
    taken += 1;
    for (const next of after.get(key) ?? []) {
      const left = (waits.get(next) ?? 0) - 1;
      waits.set(next, left);
      if (left === 0) free.push(next);
    }
  }
  return taken;
}

const types = Object.keys(ATTACHER_RULES) as AttacherType[];
const PARAMETERS = [{}, { disableFrontend: "true" }, { disableFrontend: "any" }];

/** Every pair of types, then a third ticket of the first's type; on every node, with both parameters. */
function* ticketSets(): Generator<AttachmentTicket[]> {
  const choices = NODES.flatMap((nodeID) => PARAMETERS.map((parameters) => ({ nodeID, parameters })));
  for (const first of types) {
    for (const second of types) {
      for (const x of choices) {
        for (const y of choices) {
          const one = ticket("x", first, x.nodeID, { parameters: { ...x.parameters } });
          const two = ticket("y", second, y.nodeID, { parameters: { ...y.parameters } });
          yield [one, two];
          for (const z of choices) {
            yield [one, two, ticket("z", first, z.nodeID, { parameters: { ...z.parameters } })];
          }
        }
      }
    }
  }
}

const NODE_STATES: readonly NodeState[][] = [
  ["Ready", "Ready", "Ready"],
  ["Suspect", "Ready", "Ready"],
  ["Fenced", "Ready", "Ready"],
  ["Suspect", "Fenced", "Ready"],
];

/** Where the tickets may find the volume: nowhere, held on each node, and half-way in or out. */
function starts(volume: SimVolume): State[] {
  const held = NODES.flatMap((nodeID): State[] => {
    const spec = { ...volume.spec, nodeID };
    const attached = { state: "attached" as const, currentNodeID: nodeID, frontendDisabled: false };
    return [
      { volume: { ...volume, spec, status: attached, opener: nodeID }, open: new Set([nodeID]) },
      {
        volume: { ...volume, spec, status: { state: "attaching" }, opener: nodeID },
        open: new Set([nodeID]),
      },
      { volume: { ...volume, status: { state: "detaching" }, opener: nodeID }, open: new Set([nodeID]) },
    ];
  });
  return [{ volume, open: new Set() }, ...held];
}

test("[LHA-080] every state of three nodes and up to three tickets is safe and can come to rest", () => {
  let explored = 0;
  let index = 0;
  for (const tickets of ticketSets()) {
    index += 1;
    if (index % STRIDE !== 0) continue;
    const states = DEEP ? NODE_STATES : [NODE_STATES[index % NODE_STATES.length] ?? []];
    for (const nodeStates of states) {
      const nodes = NODES.map((name, position) => node(name, nodeStates[position]));
      const shared = { accessMode: index % 2 === 0 ? "rwx" : "rwo" };
      const { volume, ...seen } = view({ tickets, nodes, spec: shared });
      for (const start of starts({ ...volume, status: { state: "detached" }, opener: "" })) {
        // A fenced node has no device.
        const open = new Set([...start.open].filter((name) => !isFenced({ ...seen, volume }, name)));
        explore({ ...start, open }, seen);
        explored += 1;
      }
    }
  }
  assert.ok(explored > 1000, `only ${explored} starts`);
});
