import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { AttacherType, AttachmentTicket } from "../api/attachment.ts";
import type { ShareManager } from "../api/share-manager.ts";
import type { VolumeStatus } from "../api/volume.ts";
import { ATTACHER_RULES, CLONE_WAITING } from "./attacher-types.ts";
import { decide } from "./decide.ts";
import { NOW, node, type Setup, type NodeState as State, ticket, view } from "./testing/build-view.ts";
import type { ArbiterView, Decision } from "./view.ts";

const placed = (setup: Setup): string | undefined => decide(view(setup)).placement?.nodeID;
const on = (nodeID: string, state: VolumeStatus["state"] = "attached"): Setup => ({
  spec: { nodeID },
  status: state === "attached" ? { state, currentNodeID: nodeID } : { state },
});

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

  test("[LHA-010] [LHA-011] [LHA-012] [LHA-013] [LHA-014] [LHA-015] [LHA-016] [LHA-017] [LHA-018] [LHA-019] [LHA-020] [LHA-021] [LHA-022] every type has its priority and wins over every lower one", () => {
    for (const [type, priority] of all) {
      assert.equal(ATTACHER_RULES[type].priority, priority, type);
      for (const [other, level] of all) {
        if (level >= priority) continue;
        assert.equal(placed({ tickets: [ticket("x", other, "a"), ticket("longer", type, "b")] }), "b");
      }
    }
  });

  test("[LHA-032] [LHA-034] [LHA-023] the highest priority is chosen and its node goes into the spec", () => {
    const tickets = [
      ticket("s", "snapshot-controller", "a"),
      ticket("c", "csi-attacher", "b"),
      ticket("r", "volume-restore-controller", "c"),
    ];
    assert.equal(placed({ tickets }), "c");
    assert.equal(placed({ tickets: tickets.slice(0, 2) }), "b");
  });

  test("[LHA-068] at equal priority the shorter id wins, then the first in order", () => {
    const two = (x: string, y: string) =>
      placed({ tickets: [ticket(x, "csi-attacher", "a"), ticket(y, "csi-attacher", "b")] });
    assert.equal(two("a-long", "a-1"), "b");
    assert.equal(two("b", "aa"), "a");
    assert.equal(two("y", "x"), "b");
  });

  test("[LHA-079] a type that nobody knows never beats a known one", () => {
    const strange = ticket("x", "made-up" as AttacherType, "a");
    assert.equal(placed({ tickets: [strange, ticket("longer", "backup-controller", "b")] }), "b");
    assert.equal(placed({ tickets: [strange] }), "a");
  });

  test("[LHA-077] a ticket on a node that is not ready does not keep a ready one waiting", () => {
    const nodes = [node("a", "Suspect"), node("b")];
    const tickets = [ticket("x", "csi-attacher", "a"), ticket("xx", "csi-attacher", "b")];
    const decision = decide(view({ tickets, nodes }));
    assert.equal(decision.placement?.nodeID, "b");
    assert.equal(decision.verdicts.x?.reason, "NodeNotReady");
    assert.equal(placed({ tickets: [ticket("x", "csi-attacher", "nowhere")] }), undefined);
  });

  test("a local volume only goes to the node that has its data", () => {
    const setup: Setup = { tickets: [ticket("x", "csi-attacher", "a")], status: { ownerID: "b" } };
    assert.equal(placed(setup), undefined);
    assert.equal(decide(view(setup)).verdicts.x?.reason, "NodeUnreachable");
  });

  test("[LHA-031] nothing is picked before the volume is fully detached, faulted or while it goes away", () => {
    const tickets = [ticket("x", "csi-attacher", "a")];
    for (const state of ["creating", "attaching", "attached", "detaching", "deleting"] as const) {
      assert.equal(placed({ tickets, status: { state } }), undefined, state);
    }
    assert.equal(placed({ tickets, status: { currentNodeID: "b" } }), undefined);
    assert.equal(placed({ tickets, status: { robustness: "faulted" } }), undefined);
    assert.equal(placed({ tickets, deleting: true }), undefined);
  });

  test("[LHA-024] disableFrontend and lastAttachedBy go from the ticket to the volume", () => {
    const parameters = { disableFrontend: "true", lastAttachedBy: "me" };
    const decision = decide(
      view({ tickets: [ticket("x", "volume-restore-controller", "a", { parameters })] }),
    );
    assert.deepEqual(decision.placement, { nodeID: "a", disableFrontend: true, lastAttachedBy: "me" });
  });
});

describe("keeping and giving up an attached volume", () => {
  test("[LHA-030] [LHA-023] a ticket of higher priority never takes a volume from a workload", () => {
    const tickets = [ticket("c", "csi-attacher", "a"), ticket("r", "volume-restore-controller", "b")];
    const decision = decide(view({ ...on("a"), tickets }));
    assert.equal(decision.placement, undefined);
    assert.equal(decision.verdicts.c?.satisfied, true);
    assert.equal(decision.verdicts.r?.reason, "BlockedByUninterruptible");
    assert.match(decision.verdicts.r?.message ?? "", /"c"/);
  });

  test("[LHA-035] [LHA-036] it stays while one ticket asks for the node and goes with the last", () => {
    const csi = ticket("c", "csi-attacher", "a");
    const snapshot = ticket("s", "snapshot-controller", "a", { parameters: { disableFrontend: "any" } });
    assert.equal(placed({ ...on("a"), tickets: [csi, snapshot] }), undefined);
    assert.equal(placed({ ...on("a"), tickets: [snapshot] }), "a");
    assert.equal(placed({ ...on("a"), tickets: [] }), "");
    assert.equal(placed({ ...on("a"), tickets: [ticket("c", "csi-attacher", "b")] }), "");
  });

  test("jobs hold a volume without showing its device; workloads come and go beside them without a detach", () => {
    const csi = ticket("c", "csi-attacher", "a");
    const job = ticket("s", "volume-eviction-controller", "a", { parameters: { disableFrontend: "any" } });
    const mode = (setup: Setup) => {
      const { placement } = decide(view(setup));
      return placement === undefined ? undefined : [placement.nodeID, placement.disableFrontend];
    };
    const hidden = { ...on("a"), spec: { nodeID: "a", disableFrontend: true } };
    assert.deepEqual(mode({ tickets: [job] }), ["a", true]);
    assert.deepEqual(mode({ tickets: [job, csi] }), ["a", false]);
    assert.deepEqual(mode({ ...hidden, tickets: [job, csi] }), ["a", false]);
    assert.deepEqual(mode({ ...on("a"), tickets: [job, csi] }), undefined);
    assert.deepEqual(mode({ ...on("a"), tickets: [job] }), ["a", true]);
    const restore = ticket("r", "volume-restore-controller", "a", {
      parameters: { disableFrontend: "true" },
    });
    assert.deepEqual(mode({ ...hidden, tickets: [job, csi, restore] }), undefined);
  });

  test("[LHA-055] [LHA-072] a faulted volume is held only by who mends it, without its device", () => {
    const faulted = { robustness: "faulted" as const };
    const csi = ticket("c", "csi-attacher", "a");
    const salvage = ticket("s", "salvage-controller", "a", { parameters: { disableFrontend: "true" } });
    const held = { state: "attached" as const, currentNodeID: "a", ...faulted };
    const mode = (setup: Setup) => decide(view(setup)).placement;
    assert.equal(mode({ tickets: [csi, salvage], spec: { nodeID: "a" }, status: held })?.nodeID, "");
    assert.equal(mode({ tickets: [csi], status: faulted }), undefined);
    const mending = mode({ tickets: [csi, salvage], status: faulted });
    assert.deepEqual([mending?.nodeID, mending?.disableFrontend], ["a", true]);
    const hidden = { nodeID: "a", disableFrontend: true };
    const inHand = { tickets: [csi, salvage], spec: hidden, status: { ...held, frontendDisabled: true } };
    assert.equal(mode(inHand), undefined);
    const told = decide(view(inHand)).verdicts;
    assert.deepEqual([told["s"]?.satisfied, told["c"]?.reason], [true, "VolumeFaulted"]);
    assert.equal(mode({ ...inHand, tickets: [csi] })?.nodeID, "");
  });

  const YIELDING: [string, AttachmentTicket, boolean][] = [
    ["snapshot", ticket("x", "snapshot-controller", "a"), true],
    ["backup", ticket("x", "backup-controller", "a"), true],
    [
      "waiting clone",
      ticket("x", "volume-clone-controller", "a", { parameters: { [CLONE_WAITING]: "true" } }),
      true,
    ],
    ["active clone", ticket("x", "volume-clone-controller", "a"), false],
    ["restore", ticket("x", "volume-restore-controller", "a"), false],
    ["expansion", ticket("x", "volume-expansion-controller", "a"), false],
    ["rebuilding", ticket("x", "volume-rebuilding-controller", "a"), false],
    ["eviction", ticket("x", "volume-eviction-controller", "a"), false],
    ["csi", ticket("x", "csi-attacher", "a"), false],
  ];
  for (const [name, holder, yields] of YIELDING) {
    test(`[LHA-073] ${name} ${yields ? "yields to" : "is not interrupted by"} a workload on another node`, () => {
      const tickets = [holder, ticket("w", "csi-attacher", "b")];
      const decision = decide(view({ ...on("a"), tickets }));
      assert.equal(decision.placement?.nodeID, yields ? "" : undefined);
      assert.equal(decision.verdicts.x?.satisfied, !yields);
    });
  }

  test("[LHA-073] nobody yields to a workload that could not be attached anyway", () => {
    const tickets = [ticket("x", "snapshot-controller", "a"), ticket("w", "csi-attacher", "b")];
    assert.equal(placed({ ...on("a"), tickets, nodes: [node("a"), node("b", "Suspect")] }), undefined);
  });

  test("a silent node keeps its volume until it is fenced or gone", () => {
    const tickets = [ticket("x", "csi-attacher", "a"), ticket("y", "csi-attacher", "b")];
    const state = (first: State) =>
      decide(view({ ...on("a"), tickets, nodes: [node("a", first), node("b")] }));
    assert.equal(state("Suspect").placement, undefined);
    assert.equal(state("Suspect").verdicts.y?.reason, "NodeUnfenced");
    assert.equal(state("Fenced").placement?.nodeID, "");
    assert.equal(state("Gone").placement?.nodeID, "");
  });

  test("[LHA-055] [LHA-056] [LHA-057] [LHA-072] a faulted volume is detached, and goes back by its ticket once it is healed", () => {
    const setup = on("a");
    const status = { ...setup.status, robustness: "faulted" as const };
    assert.equal(placed({ ...setup, status, tickets: [ticket("x", "csi-attacher", "a")] }), "");
    assert.equal(
      placed({ status: { robustness: "unknown" }, tickets: [ticket("x", "csi-attacher", "a")] }),
      "a",
    );
  });

  test("a ticket ends at its expiry and with its owner, and the volume with the last of them", () => {
    const old = ticket("x", "longhorn-api", "a", { expiresAt: NOW.toISOString() });
    const later = ticket("x", "longhorn-api", "a", { expiresAt: "2026-01-01T00:00:01Z" });
    const expired = decide(view({ ...on("a"), tickets: [old] }));
    assert.deepEqual([expired.remove, expired.placement?.nodeID], [{ x: "Expired" }, ""]);
    assert.deepEqual(decide(view({ ...on("a"), tickets: [later] })).remove, {});
    const orphan = decide(view({ tickets: [ticket("x", "snapshot-controller", "a")], ownersGone: ["x"] }));
    assert.deepEqual([orphan.remove, orphan.placement], [{ x: "OwnerGone" }, undefined]);
  });
});

describe("what a ticket is told", () => {
  test("[LHA-037] satisfied needs the node's own word and a volume that is not moving", () => {
    const tickets = [ticket("x", "csi-attacher", "a")];
    const told = (setup: Setup) => decide(view({ ...setup, tickets })).verdicts.x;
    assert.equal(told(on("a"))?.satisfied, true);
    assert.equal(told(on("a", "attaching"))?.reason, "Attaching");
    assert.equal(
      told({ spec: { nodeID: "" }, status: { state: "attached", currentNodeID: "a" } })?.satisfied,
      false,
    );
    assert.equal(
      told({ spec: { nodeID: "a" }, status: { state: "detaching", currentNodeID: "a" } })?.satisfied,
      false,
    );
  });

  test("[LHA-025] a ticket that wants the device while there is none is told so, with the holder's name", () => {
    const hidden = ticket("h", "volume-restore-controller", "a", { parameters: { disableFrontend: "true" } });
    const setup = on("a");
    const spec = { ...setup.spec, disableFrontend: true };
    const status = { ...setup.status, frontendDisabled: true };
    const tickets = [hidden, ticket("c", "csi-attacher", "a")];
    const { placement, verdicts } = decide(view({ spec, status, tickets }));
    assert.equal(placement, undefined);
    assert.equal(verdicts.h?.satisfied, true);
    assert.equal(verdicts.c?.reason, "AttachedWithIncompatibleParameters");
    assert.match(verdicts.c?.message ?? "", /"h"/);
  });

  test("[LHA-060] [LHA-076] a shared volume follows its share manager, and workloads are told when it is up", () => {
    const tickets = [
      ticket("b", "csi-attacher", "b"),
      ticket("c", "csi-attacher", "c"),
      ticket("share-manager", "share-manager-controller", "a"),
    ];
    const spec = { accessMode: "rwx" };
    assert.equal(placed({ tickets, spec }), "a");
    const held = view({ tickets, spec: { ...spec, nodeID: "a" }, status: on("a").status ?? {} });
    const told = (status: Partial<NonNullable<ShareManager["status"]>>) => {
      const share: ShareManager = {
        ...{ apiVersion: "v1", kind: "ShareManager", metadata: { name: "v-1" }, spec: { nodeID: "a" } },
        status: { state: "running", nodeID: "a", endpoint: "nfs://a:1/v-1", ...status },
      };
      return decide({ ...held, share }).verdicts;
    };
    assert.deepEqual(
      Object.values(told({})).map((v) => v.satisfied),
      [true, true, true],
    );
    assert.equal(decide(held).verdicts.b?.reason, "ShareNotReady");
    assert.equal(told({ nodeID: "c" }).b?.satisfied, false);
    const error = { code: "FAILED_PRECONDITION", message: "ganesha.nfsd is not installed" };
    const failed = told({ state: "error", error });
    assert.match(failed.c?.message ?? "", /ganesha.nfsd is not installed/);
    assert.equal(failed["share-manager"]?.satisfied, true);
    assert.equal(decide(view({ tickets, spec })).verdicts.b?.reason, "ShareNotReady");
    const alone = [ticket("b", "csi-attacher", "b")];
    assert.equal(
      decide(view({ tickets: alone, spec })).placement,
      undefined,
      "a workload's ticket moves nothing",
    );
  });

  test("[LHA-075] a ticket written by hand gets the next number of the object", () => {
    const { generation: _, ...bare } = ticket("x", "longhorn-api", "a");
    assert.deepEqual(decide(view({ tickets: [bare] })).number, { x: 10 });
    assert.deepEqual(decide(view({ tickets: [{ ...bare, generation: 99 }] })).number, { x: 10 });
    assert.deepEqual(decide(view({ tickets: [{ ...bare, generation: 10 }] })).number, {});
  });
});

describe("any view", () => {
  const types = Object.keys(ATTACHER_RULES) as AttacherType[];
  const nodeIDs = ["a", "b", "c"];
  const anyTicket = fc.record({
    id: fc.string({ minLength: 1, maxLength: 3, unit: fc.constantFrom("p", "q", "r") }),
    type: fc.constantFrom(...types),
    nodeID: fc.constantFrom(...nodeIDs, "nowhere"),
    generation: fc.integer({ min: 1, max: 10 }),
    parameters: fc.constantFrom<Record<string, string>[]>(
      {},
      { disableFrontend: "true" },
      { disableFrontend: "any" },
      { [CLONE_WAITING]: "true" },
    ),
  });
  const anySetup = fc.record({
    tickets: fc.uniqueArray(anyTicket, { selector: (t) => t.id, maxLength: 5 }),
    nodes: fc.tuple(...nodeIDs.map(() => fc.constantFrom<State>("Ready", "Suspect", "Fenced", "Gone"))),
    nodeID: fc.constantFrom("", ...nodeIDs),
    currentNodeID: fc.constantFrom("", ...nodeIDs),
    state: fc.constantFrom("creating", "detached", "attaching", "attached", "detaching", "deleting"),
    disableFrontend: fc.boolean(),
    robustness: fc.constantFrom("healthy", "faulted"),
    deleting: fc.boolean(),
  });
  type AnySetup = typeof anySetup extends fc.Arbitrary<infer T> ? T : never;
  const build = (s: AnySetup, tickets: AttachmentTicket[] = s.tickets): ArbiterView =>
    view({
      tickets,
      nodes: nodeIDs.map((id, index) => node(id, s.nodes[index] ?? "Ready")),
      spec: { nodeID: s.nodeID, disableFrontend: s.nodeID !== "" && s.disableFrontend },
      status: {
        state: s.state,
        currentNodeID: s.currentNodeID,
        robustness: s.robustness,
      },
      deleting: s.deleting,
    });
  const holds = (property: (s: AnySetup, decision: Decision) => boolean) =>
    fc.assert(
      fc.property(anySetup, (s) => property(s, decide(build(s)))),
      { numRuns: 3000 },
    );

  test("the spec moves only from empty to a node or from a node to empty", () =>
    holds(
      (s, { placement }) =>
        placement === undefined ||
        (s.nodeID === "") !== (placement.nodeID === "") ||
        (s.nodeID === placement.nodeID && s.disableFrontend !== placement.disableFrontend),
    ));

  test("it attaches only a fully detached, healthy volume, to a ready node that a ticket names", () =>
    holds((s, { placement }) => {
      if (placement === undefined || placement.nodeID === "" || placement.nodeID === s.nodeID) return true;
      const mends = s.tickets.some((t) => ATTACHER_RULES[t.type].mends === true);
      const ready = s.nodes[nodeIDs.indexOf(placement.nodeID)] === "Ready";
      const asked = s.tickets.some((t) => t.nodeID === placement.nodeID);
      const free = s.state === "detached" && s.currentNodeID === "" && (s.robustness === "healthy" || mends);
      return ready && asked && free && !s.deleting;
    }));

  test("a workload's volume is only taken away when it is faulted or its node is fenced", () =>
    holds((s, { placement }) => {
      if (placement?.nodeID !== "" || s.robustness === "faulted") return true;
      const state = s.nodes[nodeIDs.indexOf(s.nodeID)];
      if (state === "Fenced" || state === "Gone") return true;
      // Silent, and it has not begun to open the device.
      if (state !== "Ready" && s.state === "detached" && s.currentNodeID === "") return true;
      const wants = s.disableFrontend ? "true" : undefined;
      return !s.tickets.some(
        (t) =>
          ATTACHER_RULES[t.type].workload &&
          t.nodeID === s.nodeID &&
          (t.parameters as Record<string, string>).disableFrontend === wants,
      );
    }));

  test("satisfied tickets name one node, and the volume is attached there and stays", () =>
    holds((s, { placement, verdicts }) => {
      const satisfied = s.tickets.filter((t) => verdicts[t.id]?.satisfied === true);
      if (satisfied.length === 0) return true;
      const stays =
        (placement === undefined || placement.nodeID === s.nodeID) &&
        s.state === "attached" &&
        s.currentNodeID === s.nodeID;
      return stays && satisfied.every((t) => t.nodeID === s.nodeID);
    }));

  test("every ticket has a verdict with a reason and a sentence", () =>
    holds((s, { verdicts }) => s.tickets.every((t) => (verdicts[t.id]?.message.length ?? 0) > 0)));

  test("the order in which tickets were added does not matter", () =>
    holds((s, decision) => {
      assert.deepEqual(decide(build(s, [...s.tickets].reverse())), decision);
      return true;
    }));

  test("[LHA-002] [LHA-004] with fixed tickets the volume comes to rest, attached when some ticket can be", () =>
    fc.assert(
      fc.property(anySetup, (s) => {
        let current: AnySetup = { ...s, robustness: "healthy", deleting: false };
        for (let round = 0; round < 12; round += 1) {
          const { placement } = decide(build(current));
          const nodeID = placement?.nodeID ?? current.nodeID;
          const disableFrontend = placement?.disableFrontend ?? current.disableFrontend;
          const settled: Pick<AnySetup, "state" | "currentNodeID"> =
            nodeID === ""
              ? { state: "detached", currentNodeID: "" }
              : { state: "attached", currentNodeID: nodeID };
          const next: AnySetup = { ...current, nodeID, disableFrontend, ...settled };
          if (JSON.stringify(next) === JSON.stringify(current)) {
            const some = current.tickets.some((t) => current.nodes[nodeIDs.indexOf(t.nodeID)] === "Ready");
            return !some || Object.values(decide(build(current)).verdicts).some((v) => v.satisfied);
          }
          current = next;
        }
        return false;
      }),
      { numRuns: 2000 },
    ));
});
