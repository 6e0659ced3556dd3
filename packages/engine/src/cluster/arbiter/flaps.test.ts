import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { covers } from "@mooring/store/testing";
import { agentStep } from "../../simulation/agent.ts";
import type { SimVolume } from "../../simulation/model.ts";
import { decide } from "./decide.ts";
import { CALM_MS, MOST_MOVES } from "./flaps.ts";
import { FAULT, NOW, node, ticket, view } from "./testing/build-view.ts";
import type { ArbiterView } from "./view.ts";
import { nextWrite } from "./writes.ts";

const MINUTE = 60_000;
const workload = ticket("w", "csi-attacher", "a", { createdAt: NOW.toISOString() });

/** One node, its agent and the arbiter, on a clock that is turned by hand. */
class Scene {
  view: ArbiterView;
  #open = false;
  moves: { nodeID: string; at: number }[] = [];

  constructor(tickets = [workload]) {
    this.view = view({ tickets });
  }

  get status() {
    return this.view.attachment.status;
  }

  get flapping() {
    return this.status?.conditions?.find(({ type }) => type === "Flapping");
  }

  get volume(): SimVolume {
    const { volume } = this.view;
    const status = volume.status ?? { state: "detached" as const };
    return { ...volume, status, opener: volume.spec.nodeID || (status.state === "detached" ? "" : "a") };
  }

  wait(ms: number): void {
    this.view = { ...this.view, now: new Date(this.view.now.getTime() + ms) };
  }

  /** The device fails, is closed, and is found whole: what a broken disk does again and again. */
  fault(): void {
    this.settle();
    this.view.volume = {
      ...this.volume,
      status: { ...this.volume.status, robustness: "faulted", salvage: FAULT },
    };
    this.settle();
    this.view.volume = { ...this.volume, status: { ...this.volume.status, robustness: "unknown" } };
    this.settle();
  }

  settle(): void {
    for (let steps = 0; steps < 50; steps += 1) if (!this.#step()) return;
    assert.fail("it does not come to rest");
  }

  #step(): boolean {
    const write = nextWrite(this.view, decide(this.view));
    if (write?.do === "place-volume") {
      this.moves.push({ nodeID: write.volume.spec.nodeID ?? "", at: this.view.now.getTime() });
      this.view = { ...this.view, volume: write.volume };
    } else if (write !== undefined) this.view = { ...this.view, attachment: write.attachment };
    const step = agentStep("a", this.volume, { open: this.#open });
    if (step?.do === "record") this.view = { ...this.view, volume: step.next };
    else if (step !== undefined) this.#open = step.do === "open";
    return write !== undefined || step !== undefined;
  }
}

function flapped(tickets = [workload]): Scene {
  const scene = new Scene(tickets);
  for (let faults = 0; scene.flapping?.status !== "True"; faults += 1) {
    assert.ok(faults < 20, "it never flaps");
    scene.fault();
    scene.wait(1000);
  }
  return scene;
}

describe("a volume that is moved again and again", () => {
  test("10304, 9138, 9141: fixed tickets and a device that fails all the time move it a bounded number of times", () => {
    covers("LHA-080");
    const scene = new Scene();
    for (let second = 0; second < 3600; second += 1) {
      scene.fault();
      scene.wait(1000);
    }
    // Ten at once, then backoffs of 10, 20, 40, 80, 160 and 300 seconds, in which nothing moves.
    assert.ok(scene.moves.length <= MOST_MOVES + 2 * (6 + 11), `${scene.moves.length} moves in an hour`);
    assert.ok(scene.moves.length > MOST_MOVES, "it still tries");
  });

  test("the tickets that wait for the end of a backoff say so, and get the volume then", () => {
    const scene = flapped();
    const { reason, message, lastTransitionTime } = scene.flapping ?? assert.fail("no condition");
    assert.equal(reason, "MovedTooOften");
    assert.match(message, /moved 10 times while its tickets and nodes stayed the same/);
    assert.ok(lastTransitionTime > NOW.toISOString());
    const result = scene.status?.attachmentTicketStatuses?.["w"]?.conditions[0];
    assert.deepEqual([result?.status, result?.reason], ["False", "Flapping"]);
    const until = decide(scene.view).flaps.recheckAt ?? assert.fail("nobody reads again");
    assert.match(result?.message ?? "", new RegExp(until.toISOString()));
    scene.wait(until.getTime() - scene.view.now.getTime() - 1);
    scene.settle();
    assert.equal(scene.volume.spec.nodeID, "");
    scene.wait(1);
    scene.settle();
    assert.equal(scene.volume.status.state, "attached");
    assert.equal(scene.status?.attachmentTicketStatuses?.["w"]?.satisfied, true);
  });

  test("another ticket, or a node that comes back, is a reason to move at once", () => {
    const asked = flapped();
    const other = ticket("operator", "longhorn-api", "a", { generation: 2 });
    asked.view.attachment = {
      ...asked.view.attachment,
      spec: { volume: "v-1", attachmentTickets: { operator: other } },
    };
    asked.settle();
    assert.equal(asked.volume.status.state, "attached");
    assert.equal(asked.flapping?.status, "False");
    const second = ticket("x", "csi-attacher", "b", { createdAt: NOW.toISOString() });
    const scene = flapped([workload, second]);
    scene.view = {
      ...scene.view,
      nodes: new Map([
        ["a", node("a")],
        ["b", node("b", "Suspect")],
      ]),
    };
    scene.settle();
    assert.equal(scene.volume.status.state, "attached");
  });

  test("a salvage's own ticket is no reason: a fault comes with one every time", () => {
    const scene = flapped();
    const tickets = { w: workload, s: ticket("s", "salvage-controller", "a", { generation: 2 }) };
    scene.view.attachment = { ...scene.view.attachment, spec: { volume: "v-1", attachmentTickets: tickets } };
    scene.settle();
    assert.equal(scene.volume.spec.nodeID, "");
  });

  test("after a calm time it starts afresh, and the condition ends without any event", () => {
    const scene = flapped();
    scene.wait(MINUTE);
    scene.settle();
    const until = decide(scene.view).flaps.recheckAt?.getTime();
    assert.equal(until, scene.view.now.getTime() + CALM_MS);
    scene.wait(CALM_MS);
    scene.settle();
    assert.deepEqual([scene.flapping?.status, scene.flapping?.reason], ["False", "Calm"]);
    const moves = scene.moves.length;
    scene.fault();
    assert.equal(scene.moves.length, moves + 2);
  });

  test("a detach never waits", () => {
    const scene = flapped();
    scene.wait(10_000);
    scene.settle();
    assert.equal(scene.volume.status.state, "attached");
    const moves = scene.moves.length;
    scene.view.attachment = { ...scene.view.attachment, spec: { volume: "v-1", attachmentTickets: {} } };
    scene.settle();
    assert.deepEqual([scene.volume.status.state, scene.moves.length], ["detached", moves + 1]);
  });

  test("a count that an operator made up keeps nobody waiting, and goes", () => {
    const scene = new Scene();
    scene.settle();
    const real = scene.status?.moves ?? assert.fail("nothing remembered");
    for (const made of [
      { count: -1 },
      { count: 1e300 },
      { movedAt: "2999-01-01T00:00:00Z" },
      { movedAt: "yesterday" },
    ]) {
      const moves = { ...real, count: 99, ...made };
      const attachment = { ...scene.view.attachment, status: { ...scene.status, moves } };
      const decision = decide({ ...scene.view, attachment });
      assert.equal(decision.flaps.flapping, false, JSON.stringify(made));
      assert.equal(decision.flaps.moves?.count, 1);
    }
  });

  test("what is remembered survives a restart, for it is in the status", () => {
    const scene = flapped();
    const again: ArbiterView = JSON.parse(
      JSON.stringify({ ...scene.view, nodes: [], ownersGone: [], now: 0 }),
    );
    const { nodes, ownersGone, now } = scene.view;
    const decision = decide({ ...again, nodes, ownersGone, now });
    assert.equal(decision.placement, undefined);
    assert.equal(decision.flaps.flapping, true);
  });
});

describe("turns", () => {
  const at = (second: number) => new Date(NOW.getTime() + second * 1000).toISOString();
  const placed = (...tickets: (typeof workload)[]) => decide(view({ tickets })).placement?.nodeID;

  test("among equals the oldest ticket is picked, whatever its name", () => {
    const old = ticket("a-long-name", "csi-attacher", "a", { createdAt: at(0) });
    const young = ticket("x", "csi-attacher", "b", { createdAt: at(60) });
    assert.equal(placed(young, old), "a");
    const higher = ticket("p", "longhorn-api", "c", { createdAt: at(3600) });
    assert.equal(placed(young, old, higher), "c");
  });

  test("tickets of one second go by name, and one without an age is the newest", () => {
    const first = ticket("long", "csi-attacher", "a", { createdAt: "2026-01-01T00:00:00.100Z" });
    const second = ticket("x", "csi-attacher", "b", { createdAt: "2026-01-01T00:00:00.900Z" });
    assert.equal(placed(first, second), "b");
    assert.equal(placed(first, ticket("y", "csi-attacher", "c")), "a");
  });

  test("a stream of new tickets with short names does not starve a long one", () => {
    let tickets = [ticket("the-long-one", "backup-controller", "a", { createdAt: at(0) })];
    tickets.push(ticket("s0", "backup-controller", "b", { createdAt: at(0) }));
    for (let turn = 0; turn < 5; turn += 1) {
      const { placement } = decide(view({ tickets }));
      const placed = tickets.find(({ nodeID }) => nodeID === placement?.nodeID);
      if (placed?.id === "the-long-one") return;
      tickets = tickets.filter((t) => t !== placed);
      tickets.push(ticket(`s${turn + 1}`, "backup-controller", "b", { createdAt: at(turn + 1) }));
    }
    assert.fail("it never got its turn");
  });

  test("a ticket that was written by hand gets its age with its number", () => {
    const { createdAt: _, generation: __, ...bare } = workload;
    const seen = view({ tickets: [bare] });
    const write = nextWrite(seen, decide(seen));
    assert.ok(write?.do === "edit-tickets");
    assert.equal(write.attachment.spec.attachmentTickets?.["w"]?.createdAt, NOW.toISOString());
  });
});
