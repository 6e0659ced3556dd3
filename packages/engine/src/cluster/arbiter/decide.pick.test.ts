import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { covers } from "@mooring/store/testing";
import type { AttacherType } from "../../api/attachment.ts";
import { ATTACHER_RULES } from "../../tickets/attacher-types.ts";
import { decide } from "./decide.ts";
import { node, placed, type Setup, ticket, view } from "./testing/build-view.ts";

describe("picking a ticket for a detached volume", () => {
  const PRIORITIES: Record<AttacherType, number> = {
    "volume-restore-controller": 2000,
    "volume-expansion-controller": 2000,
    "longhorn-api": 1000,
    "csi-attacher": 900,
    "salvage-controller": 900,
    "share-manager-controller": 900,
    "snapshot-controller": 800,
    "backup-controller": 800,
    "volume-clone-controller": 800,
    "volume-eviction-controller": 800,
    "bim-ds-controller": 800,
    "volume-rebuilding-controller": 800,
  };
  const all = Object.entries(PRIORITIES) as [AttacherType, number][];

  test("every type has its priority and wins over every lower one", () => {
    covers(
      "LHA-010",
      "LHA-011",
      "LHA-012",
      "LHA-013",
      "LHA-014",
      "LHA-015",
      "LHA-016",
      "LHA-017",
      "LHA-018",
      "LHA-019",
      "LHA-020",
      "LHA-021",
      "LHA-022",
    );
    for (const [type, priority] of all) {
      assert.equal(ATTACHER_RULES[type].priority, priority, type);
      for (const [other, level] of all) {
        if (level >= priority) continue;
        assert.equal(placed({ tickets: [ticket("x", other, "a"), ticket("longer", type, "b")] }), "b");
      }
    }
  });

  test("the highest priority is chosen and its node goes into the spec", () => {
    covers("LHA-032", "LHA-034", "LHA-023");
    const tickets = [
      ticket("s", "snapshot-controller", "a"),
      ticket("c", "csi-attacher", "b"),
      ticket("r", "volume-restore-controller", "c"),
    ];
    assert.equal(placed({ tickets }), "c");
    assert.equal(placed({ tickets: tickets.slice(0, 2) }), "b");
  });

  test("at equal priority the shorter id wins, then the first in order", () => {
    covers("LHA-068");
    const two = (x: string, y: string) =>
      placed({ tickets: [ticket(x, "csi-attacher", "a"), ticket(y, "csi-attacher", "b")] });
    assert.equal(two("a-long", "a-1"), "b");
    assert.equal(two("b", "aa"), "a");
    assert.equal(two("y", "x"), "b");
  });

  test("an unknown type never beats a known one", () => {
    covers("LHA-079");
    const strange = ticket("x", "made-up" as AttacherType, "a");
    assert.equal(placed({ tickets: [strange, ticket("longer", "backup-controller", "b")] }), "b");
    assert.equal(placed({ tickets: [strange] }), "a");
  });

  test("a ticket on a node that is not ready does not keep a ready one waiting", () => {
    covers("LHA-077");
    const nodes = [node("a", "Suspect"), node("b")];
    const tickets = [ticket("x", "csi-attacher", "a"), ticket("xx", "csi-attacher", "b")];
    const decision = decide(view({ tickets, nodes }));
    assert.equal(decision.placement?.nodeID, "b");
    assert.equal(decision.results.x?.reason, "NodeNotReady");
    assert.equal(placed({ tickets: [ticket("x", "csi-attacher", "nowhere")] }), undefined);
  });

  test("a local volume only goes to the node that has its data", () => {
    const setup: Setup = { tickets: [ticket("x", "csi-attacher", "a")], status: { ownerID: "b" } };
    assert.equal(placed(setup), undefined);
    assert.equal(decide(view(setup)).results.x?.reason, "NodeUnreachable");
  });

  test("nothing is picked before the volume is fully detached, faulted or while it goes away", () => {
    covers("LHA-031");
    const tickets = [ticket("x", "csi-attacher", "a")];
    for (const state of ["creating", "attaching", "attached", "detaching", "deleting"] as const) {
      assert.equal(placed({ tickets, status: { state } }), undefined, state);
    }
    assert.equal(placed({ tickets, status: { currentNodeID: "b" } }), undefined);
    assert.equal(placed({ tickets, status: { robustness: "faulted" } }), undefined);
    assert.equal(placed({ tickets, deleting: true }), undefined);
  });

  test("disableFrontend and lastAttachedBy go from the ticket to the volume", () => {
    covers("LHA-024");
    const parameters = { disableFrontend: "true", lastAttachedBy: "me" };
    const decision = decide(
      view({ tickets: [ticket("x", "volume-restore-controller", "a", { parameters })] }),
    );
    assert.deepEqual(decision.placement, { nodeID: "a", disableFrontend: true, lastAttachedBy: "me" });
  });
});
