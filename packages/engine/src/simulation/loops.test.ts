import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { AttacherType } from "../api/attachment.ts";
import { ticketStatus } from "../tickets/tickets.ts";
import { type EventName, History } from "./history.ts";
import type { Asker } from "./model.ts";
import { comesToRest, settle } from "./settle.ts";
import { NODES } from "./world.ts";

type Node = (typeof NODES)[number];

const asker = (id: string, type: AttacherType, nodeID: Node, disableFrontend = "false"): Asker => ({
  ...{ id, type, nodeID, parameters: { disableFrontend } },
});
const workload = (id: string, nodeID: Node) => asker(id, "csi-attacher", nodeID);
const restoreOnA = asker("r", "volume-restore-controller", "a", "true");

/** A history whose events are given one by one; between them, nobody acts unless `rest` is called. */
class Scene extends History {
  readonly #askers: readonly Asker[];

  constructor(...askers: Asker[]) {
    super({ shared: false, migratable: false, kubernetes: false, askers });
    this.#askers = askers;
    this.ask(...askers.map(({ id }) => id));
  }

  ask(...ids: string[]): this {
    for (const id of ids) this.happen({ name: "ask", who: this.#who(id) });
    return this;
  }

  drop(id: string): this {
    this.happen({ name: "drop", who: this.#who(id) });
    return this;
  }

  on(nodeID: Node, ...names: EventName[]): this {
    for (const name of names) this.happen({ name, who: NODES.indexOf(nodeID) });
    return this;
  }

  /** The restore's controller asks for another node: the only asker that moves here comes first. */
  moveFirst(nodeID: Node): this {
    const who = NODES.indexOf(nodeID);
    const index = Array.from({ length: this.#askers.length }, (_, turn) => who + turn * NODES.length);
    this.happen({ name: "move", who: index.find((n) => n % this.#askers.length === 0) ?? who });
    return this;
  }

  rest(): this {
    assert.ok(comesToRest(this), "it never comes to rest");
    return this;
  }

  /** One step of the arbiter or of a node's agent after the other, until the volume is in the state. */
  until(state: string): this {
    for (let step = 0; step < 50 && this.world.volume.status.state !== state; step += 1) {
      this.on("a", step % 2 === 0 ? "arbiter" : "opener");
    }
    assert.equal(this.world.volume.status.state, state);
    return this;
  }

  /** Who has the volume, where, and with what; how often the wanted node changed until then. */
  now() {
    const { volume, moves, tickets, attachment } = this.world;
    const satisfied = tickets.filter(({ id }) => ticketStatus(attachment, id)?.satisfied === true);
    const { state, currentNodeID: node = "", frontendDisabled = false } = volume.status;
    const open = NODES.filter((name) => this.world.node(name).open).join();
    return { state, node, open, hidden: frontendDisabled, for: satisfied.map(({ id }) => id).join(), moves };
  }

  #who(id: string): number {
    return this.#askers.findIndex((one) => one.id === id);
  }
}

const attached = { state: "attached", node: "a", open: "a", hidden: false };
const detached = { state: "detached", node: "", open: "", for: "" };

describe("attach and detach loops that a predecessor had, by their number there", () => {
  test("12406: a node that reboots opens the volume again where it was", () => {
    const scene = new Scene(workload("w", "a")).rest();
    for (let reboot = 0; reboot < 5; reboot += 1) {
      scene.on("a", "power-off", "suspect").rest();
      assert.equal(scene.now().open, "");
      scene.on("a", "return").rest();
      assert.deepEqual(scene.now(), { ...attached, for: "w", moves: 1 });
    }
    settle(scene, "return");
  });

  test("9919: tickets that contradict each other move the volume once, however often everybody starts anew", () => {
    const operator = asker("p", "longhorn-api", "a", "true");
    const scene = new Scene(workload("w", "a"), workload("x", "b"), operator);
    const job = new Scene(workload("w", "a"), asker("b", "backup-controller", "b", "any"));
    for (const each of [scene, job]) {
      each.rest();
      const first = each.now();
      assert.equal(first.moves, 1);
      for (let round = 0; round < 50; round += 1) {
        each.on("a", "arbiter-dies", "agent-dies", "suspect").rest();
        each.on("a", "return", "time").rest();
      }
      assert.deepEqual(each.now(), first);
      settle(each, "return");
    }
  });

  test("10293: what an attach that was given up has left is closed once, and the next attach is the last", () => {
    const scene = new Scene(workload("w", "a"), workload("x", "b")).drop("x").until("attaching");
    // The device is open and nothing records it: the agent dies in between, and its workload leaves.
    scene.on("a", "agent", "agent");
    assert.equal(scene.world.node("a").open, true);
    scene.on("a", "agent-dies").drop("w").rest();
    assert.deepEqual(scene.now(), { ...detached, hidden: false, moves: 2 });
    scene.ask("x").rest();
    assert.deepEqual(scene.now(), { ...attached, node: "b", open: "b", for: "x", moves: 3 });
    settle(scene, "return");
  });

  test("13314: a volume that fails again after it came back costs one detach and one attach each time", () => {
    const scene = new Scene(workload("w", "a")).rest();
    for (let faults = 1; faults <= 4; faults += 1) {
      scene.on("a", "fault").rest();
      assert.deepEqual(scene.now(), { ...attached, for: "w", moves: 1 + 2 * faults });
    }
    settle(scene, "return");
  });

  test("1330, 1240, 1099: a device that cannot be opened is tried where it is, and nobody takes the volume meanwhile", () => {
    const scene = new Scene(workload("w", "a"), asker("s", "snapshot-controller", "b", "any"));
    scene.drop("s").until("attaching").ask("s");
    for (let attempt = 0; attempt < 100; attempt += 1) {
      scene.on("a", "agent", "agent-dies", "arbiter", "nodes-seen", "arbiter", "arbiter", "arbiter-dies");
      const { state, open, moves } = scene.now();
      assert.deepEqual([state, open, moves], ["attaching", "", 1]);
    }
    assert.deepEqual(scene.rest().now(), { ...attached, for: "w", moves: 1 });
    settle(scene, "return");
  });

  test("1366: a restore whose node reboots goes on where it was, before the workload that waits for it", () => {
    const scene = new Scene(restoreOnA, workload("w", "b")).rest();
    const restoring = { ...attached, hidden: true, for: "r", moves: 1 };
    assert.deepEqual(scene.now(), restoring);
    scene.on("a", "power-off", "suspect").rest();
    assert.equal(scene.now().moves, 1, "a node that is silent may still write");
    scene.on("a", "return").rest();
    assert.deepEqual(scene.now(), restoring);
    scene.drop("r").rest();
    assert.deepEqual(scene.now(), { ...attached, node: "b", open: "b", for: "w", moves: 3 });
    settle(scene, "return");
  });

  test("2103: a restore whose node is lost ends elsewhere, and the volume can be detached", () => {
    const scene = new Scene(restoreOnA, workload("w", "b")).rest();
    scene.on("a", "power-off", "suspect", "fence").moveFirst("c").rest();
    const restoring = { ...attached, node: "c", open: "c", hidden: true, for: "r", moves: 3 };
    assert.deepEqual(scene.now(), restoring);
    scene.drop("r").rest();
    assert.deepEqual(scene.now(), { ...attached, node: "b", open: "b", for: "w", moves: 5 });
    scene.drop("w").rest();
    assert.deepEqual(scene.now(), { ...detached, hidden: false, moves: 6 });
    settle(scene, "fence");
  });
});
