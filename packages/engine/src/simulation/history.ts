import { defined } from "@mooring/store";
import { decide } from "../cluster/arbiter/decide.ts";
import { FAULT } from "../cluster/arbiter/testing/build-view.ts";
import { SHARE_TYPE } from "../tickets/share-ticket.ts";
import { withoutTickets, withTicket } from "../tickets/tickets.ts";
import { agentStep } from "./agent.ts";
import { SimArbiter } from "./arbiter.ts";
import { handEdit } from "./hand-edit.ts";
import { ownerFor } from "./kubernetes.ts";
import { giveBack, loseLease, mayOpen, migrate, migrationStep, nameOf } from "./migration.ts";
import type { Asker, Plan } from "./model.ts";
import { checkRecord, checkWorld, must } from "./safety.ts";
import { NODES, World } from "./world.ts";

/** Everything that can happen in a history. */
export const EVENTS = [
  "arbiter",
  "agent",
  "opener",
  "ask",
  "drop",
  "move",
  "owner-gone",
  "arbiter-dies",
  "agent-dies",
  "nodes-seen",
  "power-off",
  "partition",
  "suspect",
  "fence",
  "clean-up",
  "return",
  "users",
  "fault",
  "repair",
  "attacher",
  "tear-out",
  "hand-edit",
  "strip",
  "time",
] as const;
/** One of {@link EVENTS}. */
export type EventName = (typeof EVENTS)[number];

/** What happens next; `who` picks the node or asker that it happens to, `times` how many steps are made in a row. */
export interface HistoryEvent {
  name: EventName;
  who: number;
  times?: number;
}

/** A run of one plan: events change it step by step, and every step is checked. */
export class History {
  readonly world: World;
  readonly arbiter: SimArbiter;
  readonly #plan: Plan;

  /** `by`: an arbiter in the place of ours. */
  constructor(plan: Plan, by: typeof decide = decide) {
    this.#plan = plan;
    this.world = new World(plan);
    this.arbiter = new SimArbiter(this.world, by);
  }

  happen({ name, who, times = 1 }: HistoryEvent): void {
    for (let time = 0; time < times; time += 1) this.#once(name, who);
  }

  #once(name: EventName, who: number): void {
    const nodeID = NODES[who % NODES.length] ?? "a";
    const asker = this.#plan.askers[who % this.#plan.askers.length];
    this.#events[name](nodeID, asker);
    checkWorld(this.world);
  }

  readonly #events: Readonly<Record<EventName, (nodeID: string, asker: Asker | undefined) => void>> = {
    arbiter: () => this.arbiter.step(),
    agent: (nodeID) => this.agentStep(nodeID),
    // Most often the one that has something to do.
    opener: () => this.agentStep(this.world.volume.opener || (this.world.volume.spec.nodeID ?? "") || "a"),
    ask: (_, asker) => this.#ask(asker),
    drop: (_, asker) => this.#drop(asker),
    // The ticket of a Pod has the name of its node, so it never moves.
    move: (nodeID, asker) =>
      this.#claiming(asker) ? undefined : this.#ask(asker === undefined ? undefined : { ...asker, nodeID }),
    attacher: () => {
      this.world.kubernetes?.attach(this.world);
      this.world.log("the attacher reads Kubernetes and the driver");
    },
    "tear-out": (_, asker) => this.#tearOut(asker),
    "hand-edit": (nodeID, asker) => handEdit(this.world, asker?.id ?? "", nodeID),
    strip: (nodeID) => {
      this.world.kubernetes?.strip(nodeID);
      this.world.log(`the attachment of Kubernetes on node "${nodeID}" is stripped, if there is one`);
    },
    "owner-gone": (_, asker) => {
      if (asker === undefined || this.world.attachment.spec.attachmentTickets?.[asker.id] === undefined)
        return;
      if (this.#claiming(asker)) return;
      this.world.lost.add(asker.id);
      if (asker.type === SHARE_TYPE) this.world.serving = "";
      this.world.log(`the owner of ticket "${asker.id}" is gone`);
    },
    "arbiter-dies": () => {
      this.arbiter.restart();
      this.world.log("the arbiter dies and starts again");
    },
    "agent-dies": (nodeID) => {
      this.world.node(nodeID).pending = undefined;
      this.world.log(`the agent of node "${nodeID}" dies and starts again`);
    },
    "nodes-seen": () => this.arbiter.sync(),
    "power-off": (nodeID) => this.#stop(nodeID, `node "${nodeID}" loses power`),
    partition: (nodeID) => {
      this.world.node(nodeID).partitioned = true;
      this.world.log(`node "${nodeID}" is partitioned, and goes on`);
    },
    suspect: (nodeID) => {
      this.world.node(nodeID).believed = "Suspect";
      this.world.log(`node "${nodeID}" is suspected`);
    },
    fence: (nodeID) => this.#fence(nodeID),
    "clean-up": (nodeID) => this.#cleanUp(nodeID),
    return: (nodeID) => this.return(nodeID),
    users: (nodeID) => this.#users(nodeID),
    fault: () => this.#fault(),
    repair: () => this.repair(),
    time: () => {
      this.world.now += 1000;
      this.world.log("a second passes");
    },
  };

  /** The agent reads and makes up its mind, or does what it had in mind. True when it changed anything. */
  agentStep(nodeID: string): boolean {
    const { world } = this;
    const node = world.node(nodeID);
    if (node.stopped) return false;
    if (node.pending === undefined) {
      if (node.partitioned) return false;
      const migration = migrationStep(world, nodeID);
      const step = migration === undefined ? agentStep(nodeID, world.volume, node) : migration;
      if (step === "wait" || step === undefined) return false;
      node.pending = { step, version: world.volumeVersion };
      world.log(`node "${nodeID}" is about to ${nameOf(step)}`);
      return true;
    }
    const { step, version } = node.pending;
    node.pending = undefined;
    if (step.do === "migrate") migrate(world, nodeID, step.step, version);
    else if (step.do === "close" && node.inUse) world.log(`node "${nodeID}" cannot close what is in use`);
    else if (step.do !== "record") {
      // An image is opened under its lease only.
      if (step.do === "close" || mayOpen(world, nodeID)) node.open = step.do === "open";
      world.log(`node "${nodeID}" has done ${step.do}`);
    } else if (!node.partitioned && world.writeVolume(step.next, version)) {
      checkRecord(world, nodeID, step.state);
      if (step.next.opener === "") giveBack(world, nodeID);
      world.log(`node "${nodeID}" records ${step.state}`);
    } else world.log(`node "${nodeID}" cannot record ${step.state}`);
    return true;
  }

  return(nodeID: string): void {
    const node = this.world.node(nodeID);
    // A node that was stopped comes back by a reboot, which has no devices.
    if (node.stopped) Object.assign(node, { open: false, withheld: false, inUse: false });
    Object.assign(node, { believed: "Ready", stopped: false, partitioned: false });
    this.world.log(`node "${nodeID}" is back`);
  }

  /** Nobody uses the volume's device any more. */
  endUsers(): void {
    for (const nodeID of NODES) if (this.world.node(nodeID).inUse) this.#users(nodeID);
  }

  repair(): void {
    const { volume, volumeVersion } = this.world;
    const { robustness, state } = volume.status;
    const inHand = state === "attached" && volume.spec.disableFrontend === true;
    if (robustness !== "faulted" || !(state === "detached" || inHand)) return;
    this.world.writeVolume({ ...volume, status: { ...volume.status, robustness: "unknown" } }, volumeVersion);
    this.world.log("the volume is repaired");
  }

  /** No workload needs the volume any more. */
  leaveAll(): void {
    for (const nodeID of NODES) this.world.kubernetes?.leave(nodeID);
    this.world.kubernetes?.attach(this.world);
  }

  /** Whether Kubernetes asks on a workload's behalf. */
  #claiming(asker: Asker | undefined): boolean {
    return this.world.kubernetes !== undefined && asker?.type === "csi-attacher";
  }

  /** An operator deletes the ticket of a workload, which is not notified. */
  #tearOut(asker: Asker | undefined): void {
    const { world } = this;
    const { next } = withoutTickets(world.attachment, ({ id }) => id === asker?.id);
    if (next === undefined) return;
    world.writeTickets(next);
    world.log(`ticket "${asker?.id}" is torn out`);
  }

  #ask(asker: Asker | undefined): void {
    if (asker === undefined) return;
    const claim = this.#claiming(asker) ? this.world.kubernetes?.claim(asker.nodeID) : undefined;
    if (this.#claiming(asker) && claim === undefined) return;
    const { id, type, nodeID, parameters, expiresAfter } = asker;
    const { world } = this;
    // Said before the ticket is written, and taken back before it goes.
    if (type === SHARE_TYPE) world.serving = nodeID;
    const start = new Date(Date.UTC(2026, 0, 1)).getTime();
    const expiresAt = expiresAfter === undefined ? undefined : new Date(start + expiresAfter).toISOString();
    const until = defined({ expiresAt });
    const request = { id, type, nodeID, parameters, ...until, ...ownerFor(claim) };
    const { result, next } = withTicket(world.attachment, request, world.date);
    world.log(`ticket "${id}" (${type}, ${JSON.stringify(parameters)}) asks for node "${nodeID}"`);
    if (next === undefined) return;
    const highest = world.generations.get(id) ?? 0;
    must((result.generation ?? 0) > highest, "S7", `ticket "${id}" got number ${result.generation} again`);
    world.lost.delete(id);
    world.writeTickets(next);
  }

  #drop(asker: Asker | undefined): void {
    if (asker === undefined) return;
    const { world } = this;
    if (this.#claiming(asker)) {
      world.kubernetes?.leave(asker.nodeID);
      world.log(`the Pod of ticket "${asker.id}" leaves`);
      return;
    }
    const nodeID = world.attachment.spec.attachmentTickets?.[asker.id]?.nodeID;
    if (asker.type === SHARE_TYPE) world.serving = "";
    const { next } = withoutTickets(world.attachment, ({ id }) => id === asker.id);
    world.log(`ticket "${asker.id}" is dropped`);
    if (next === undefined || nodeID === undefined) return;
    world.writeTickets(next);
    world.unpublishing.push({ nodeID });
  }

  #stop(nodeID: string, story: string): void {
    const gone = { stopped: true, open: false, withheld: false, inUse: false, pending: undefined };
    Object.assign(this.world.node(nodeID), gone);
    this.world.log(story);
  }

  /** Proof first: the node cannot write any more. Only then is it recorded. */
  #fence(nodeID: string): void {
    if (this.world.node(nodeID).believed !== "Suspect") return;
    this.#stop(nodeID, `node "${nodeID}" is fenced`);
    this.world.node(nodeID).believed = "Fenced";
    loseLease(this.world, nodeID);
  }

  /** What a fenced node left behind is recorded as closed. */
  #cleanUp(nodeID: string): void {
    const { volume, volumeVersion } = this.world;
    if (this.world.node(nodeID).believed !== "Fenced" || volume.opener !== nodeID) return;
    checkRecord(this.world, nodeID, "detached");
    const status = { ...volume.status, state: "detached" as const, currentNodeID: "" };
    this.world.writeVolume({ ...volume, status, opener: "" }, volumeVersion);
    this.world.lease.unclean = false;
    this.world.log(`what node "${nodeID}" left is recorded as detached`);
  }

  /** Programs begin to use the device that is open on the node, or the last of them ends. */
  #users(nodeID: string): void {
    const node = this.world.node(nodeID);
    node.inUse = node.open && !node.inUse;
    this.world.log(`the device on node "${nodeID}" is ${node.inUse ? "in use" : "not in use"}`);
  }

  #fault(): void {
    const { volume, volumeVersion } = this.world;
    if (volume.status.state !== "attached") return;
    const status = { ...volume.status, robustness: "faulted" as const, salvage: FAULT };
    this.world.writeVolume({ ...volume, status }, volumeVersion);
    this.world.log("the volume's device fails");
  }
}
