import assert from "node:assert/strict";
import { test } from "node:test";
import { covers, howMany } from "@mooring/store/testing";
import type { AttacherType, AttachmentTicket } from "../api/attachment.ts";
import { decide } from "../cluster/arbiter/decide.ts";
import { type NodeState, ticket } from "../cluster/arbiter/testing/build-view.ts";
import { placed } from "../cluster/arbiter/writes.ts";
import { ATTACHER_RULES } from "../tickets/attacher-types.ts";
import { agentStep } from "./agent.ts";
import { explore } from "./explore.ts";
import { migrate, migrationStep } from "./migration.ts";
import type { SimLease, SimVolume } from "./model.ts";
import { checkPlacement, checkWorld } from "./safety.ts";
import { NODES, type SimNode, World } from "./world.ts";

/** Of all sets of tickets, the normal run takes one in so many. */
const STRIDE = howMany({ everyday: 83, full: 23, deep: 1 });

type Devices = Record<string, Pick<SimNode, "open" | "withheld">>;

interface State {
  volume: SimVolume;
  lease: SimLease;
  devices: Devices;
}

const PLAN = { shared: false, migratable: true, kubernetes: false };

function worldOf(
  { volume, lease, devices }: State,
  tickets: readonly AttachmentTicket[],
  nodes: readonly NodeState[],
) {
  const world = new World(PLAN);
  world.volume = structuredClone(volume);
  world.lease = { ...lease };
  world.attachment.metadata.generation = 9;
  world.attachment.spec.attachmentTickets = Object.fromEntries(tickets.map((t) => [t.id, t]));
  NODES.forEach((name, index) => {
    const believed = nodes[index] ?? "Ready";
    const stopped = believed !== "Ready";
    Object.assign(world.node(name), stopped ? {} : devices[name], { believed, stopped });
  });
  return world;
}

function stateOf(world: World): State {
  const { volume, lease } = world;
  const devices: Devices = {};
  for (const [name, { open, withheld }] of world.nodes) devices[name] = { open, withheld };
  return structuredClone({ volume, lease, devices });
}

/** Everything that can happen next: the arbiter places, an agent acts, what a fenced node left is cleared away. */
function nextStates(state: State, build: (state: State) => World): State[] {
  const next: State[] = [];
  const after = (change: (world: World) => void) => {
    const world = build(state);
    change(world);
    checkWorld(world);
    next.push(stateOf(world));
  };
  const before = build(state);
  const seen = before.view(before.agents());
  const { placement } = decide(seen);
  if (placement !== undefined) {
    after((world) => {
      const { spec } = placed(world.volume, placement);
      checkPlacement(world.volume, { ...world.volume, spec }, seen);
      world.volume = { ...world.volume, spec };
    });
  }
  for (const nodeID of NODES) {
    const { believed } = before.node(nodeID);
    if (believed === "Fenced" && before.volume.opener === nodeID) {
      after((world) => {
        const status = { ...world.volume.status, state: "detached" as const, currentNodeID: "" };
        world.volume = { ...world.volume, status, opener: "" };
        world.lease.unclean = false;
      });
    }
    if (believed !== "Ready") continue;
    const migration = migrationStep(before, nodeID);
    const step = migration ?? agentStep(nodeID, before.volume, before.node(nodeID));
    if (step === undefined || step === "wait") continue;
    after((world) => {
      if (step.do === "migrate") migrate(world, nodeID, step.step, world.volumeVersion);
      else if (step.do !== "record") world.node(nodeID).open = step.do === "open";
      else {
        world.volume = step.next;
        if (step.next.opener === "" && world.lease.holder === nodeID) world.lease.holder = "";
      }
    });
  }
  return next;
}

const keyOf = (state: State): string => JSON.stringify(state);

/** A volume on node a, in every step of its way to node b and back. */
function starts(): State[] {
  const { volume } = new World(PLAN);
  const lease = { holder: "a", for: "", unclean: false };
  const off = { open: false, withheld: false };
  const on = { open: true, withheld: false };
  const ready = { open: false, withheld: true };
  const state = (
    [nodeID, migrationNodeID]: [string, string],
    [currentNodeID, currentMigrationNodeID]: [string, string],
    more: Partial<Omit<State, "volume">>,
  ): State => ({
    volume: {
      ...volume,
      spec: { ...volume.spec, nodeID, migrationNodeID },
      status: {
        state: currentNodeID === "" ? "detached" : "attached",
        currentNodeID,
        currentMigrationNodeID,
        frontendDisabled: false,
      },
      opener: currentNodeID,
    },
    lease,
    devices: { a: on, b: off, c: off },
    ...more,
  });
  const both = { a: on, b: ready, c: off };
  return [
    state(["", ""], ["", ""], { lease: { ...lease, holder: "" }, devices: { a: off, b: off, c: off } }),
    state(["a", ""], ["a", ""], {}),
    state(["a", "b"], ["a", ""], {}),
    state(["a", "b"], ["a", ""], { devices: both }),
    state(["a", "b"], ["a", "b"], { devices: both }),
    state(["a", ""], ["a", "b"], { devices: both }),
    state(["", ""], ["a", "b"], { devices: both }),
    state(["b", ""], ["a", "b"], { devices: both }),
    state(["b", ""], ["a", "b"], { devices: { a: off, b: ready, c: off } }),
    state(["b", ""], ["a", "b"], {
      devices: { a: off, b: ready, c: off },
      lease: { ...lease, holder: "", for: "b" },
    }),
    state(["b", ""], ["a", "b"], { devices: { a: off, b: ready, c: off }, lease: { ...lease, holder: "b" } }),
    state(["b", ""], ["a", "b"], { devices: { a: off, b: on, c: off }, lease: { ...lease, holder: "b" } }),
    state(["", ""], ["a", "b"], { devices: { a: off, b: on, c: off }, lease: { ...lease, holder: "b" } }),
  ];
}

const NODE_STATES: readonly NodeState[][] = [
  ["Ready", "Ready", "Ready"],
  ["Suspect", "Ready", "Ready"],
  ["Fenced", "Ready", "Ready"],
  ["Ready", "Suspect", "Ready"],
  ["Ready", "Fenced", "Ready"],
];

/** No workload, one or two of them, and one ticket of any type beside them. */
function* ticketSets(): Generator<AttachmentTicket[]> {
  const workloads = ["", "a", "b", "c", "ab", "ac", "bc"].map((nodes) =>
    [...nodes].map((nodeID) => ticket(`w${nodeID}`, "csi-attacher", nodeID)),
  );
  const others = (Object.keys(ATTACHER_RULES) as AttacherType[]).flatMap((type) =>
    NODES.flatMap((nodeID) =>
      ["any", "true"].map((disableFrontend) =>
        ticket("x", type, nodeID, { parameters: { disableFrontend } }),
      ),
    ),
  );
  for (const present of workloads) {
    yield present;
    for (const other of others) yield [...present, other];
  }
}

test("a volume in every step of a migration, with any tickets and any lost node, is safe and comes to rest", () => {
  covers("LHA-061", "LHA-074");
  let explored = 0;
  let index = 0;
  for (const tickets of ticketSets()) {
    index += 1;
    if (index % STRIDE !== 0) continue;
    for (const nodes of NODE_STATES) {
      const build = (state: State) => worldOf(state, tickets, nodes);
      const all = starts().map((start) => stateOf(build(start)));
      explored += explore(all, keyOf, (state) => nextStates(state, build));
    }
  }
  assert.ok(explored * STRIDE > 69_000, `only ${explored} states`);
});
