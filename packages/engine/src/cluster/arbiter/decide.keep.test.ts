import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { covers } from "@mooring/store/testing";
import type { AttachmentTicket } from "../../api/attachment.ts";
import { CLONE_WAITING } from "../../tickets/attacher-types.ts";
import { decide } from "./decide.ts";
import {
  NOW,
  node,
  on,
  placed,
  type Setup,
  type NodeState as State,
  ticket,
  view,
} from "./testing/build-view.ts";

describe("keeping and giving up an attached volume", () => {
  test("a ticket of higher priority never takes a volume from a workload", () => {
    covers("LHA-030", "LHA-023");
    const tickets = [ticket("c", "csi-attacher", "a"), ticket("r", "volume-restore-controller", "b")];
    const decision = decide(view({ ...on("a"), tickets }));
    assert.equal(decision.placement, undefined);
    assert.equal(decision.results.c?.satisfied, true);
    assert.equal(decision.results.r?.reason, "BlockedByUninterruptible");
    assert.match(decision.results.r?.message ?? "", /"c"/);
  });

  test("it stays while one ticket asks for the node and goes with the last", () => {
    covers("LHA-035", "LHA-036");
    const csi = ticket("c", "csi-attacher", "a");
    const snapshot = ticket("s", "snapshot-controller", "a", { parameters: { disableFrontend: "any" } });
    assert.equal(placed({ ...on("a"), tickets: [csi, snapshot] }), undefined);
    assert.equal(placed({ ...on("a"), tickets: [snapshot] }), "a");
    assert.equal(placed({ ...on("a"), tickets: [] }), "");
    assert.equal(placed({ ...on("a"), tickets: [ticket("c", "csi-attacher", "b")] }), "");
  });

  test("jobs have a volume without showing its device; workloads come and go beside them without a detach", () => {
    const csi = ticket("c", "csi-attacher", "a", { parameters: { lastAttachedBy: "csi" } });
    const job = ticket("s", "volume-eviction-controller", "a", { parameters: { disableFrontend: "any" } });
    const mode = (setup: Setup) => {
      const { placement } = decide(view(setup));
      return placement === undefined ? undefined : [placement.nodeID, placement.disableFrontend];
    };
    const hidden = { ...on("a"), spec: { nodeID: "a", disableFrontend: true } };
    assert.deepEqual(mode({ tickets: [job] }), ["a", true]);
    assert.deepEqual(mode({ tickets: [job, csi] }), ["a", false]);
    assert.deepEqual(mode({ ...hidden, tickets: [job, csi] }), ["a", false]);
    assert.equal(decide(view({ ...hidden, tickets: [job, csi] })).placement?.lastAttachedBy, "csi");
    assert.deepEqual(mode({ ...on("a"), tickets: [job, csi] }), undefined);
    assert.deepEqual(mode({ ...on("a"), tickets: [job] }), ["a", true]);
    const restore = ticket("r", "volume-restore-controller", "a", {
      parameters: { disableFrontend: "true" },
    });
    assert.deepEqual(mode({ ...hidden, tickets: [job, csi, restore] }), undefined);
  });

  test("only who repairs a faulted volume has it, without its device", () => {
    covers("LHA-055", "LHA-072");
    const faulted = { robustness: "faulted" as const };
    const csi = ticket("c", "csi-attacher", "a");
    const salvage = ticket("s", "salvage-controller", "a", { parameters: { disableFrontend: "true" } });
    const opened = { state: "attached" as const, currentNodeID: "a", ...faulted };
    const mode = (setup: Setup) => decide(view(setup)).placement;
    assert.equal(mode({ tickets: [csi, salvage], spec: { nodeID: "a" }, status: opened })?.nodeID, "");
    assert.equal(mode({ tickets: [csi], status: faulted }), undefined);
    const repairing = mode({ tickets: [csi, salvage], status: faulted });
    assert.deepEqual([repairing?.nodeID, repairing?.disableFrontend], ["a", true]);
    const hidden = { nodeID: "a", disableFrontend: true };
    const inHand = { tickets: [csi, salvage], spec: hidden, status: { ...opened, frontendDisabled: true } };
    assert.equal(mode(inHand), undefined);
    const { results } = decide(view(inHand));
    assert.deepEqual([results["s"]?.satisfied, results["c"]?.reason], [true, "VolumeFaulted"]);
    assert.equal(mode({ ...inHand, tickets: [csi] })?.nodeID, "");
  });

  /** No ticket had it any more; the agent of node "a" has found its device in use. */
  const IN_USE = { code: "FAILED_PRECONDITION", message: "/dev/loop1 is in use: mounted at /p" };
  const open = { status: { state: "detaching" as const, currentNodeID: "a", error: IN_USE } };
  const back = ticket("c", "csi-attacher", "a");
  const STAYS: [string, Setup, string | undefined][] = [
    ["a workload of its node", { tickets: [back] }, "a"],
    ["an operator of its node", { tickets: [ticket("o", "longhorn-api", "a")] }, "a"],
    [
      "an operator of another node, with a workload of its own",
      { tickets: [ticket("o", "longhorn-api", "b"), back] },
      "a",
    ],
    ["a workload of another node", { tickets: [ticket("c", "csi-attacher", "b")] }, undefined],
    ["a job of its node", { tickets: [ticket("s", "snapshot-controller", "a")] }, undefined],
    [
      "an operator who wants no device",
      { tickets: [ticket("o", "longhorn-api", "a", { parameters: { disableFrontend: "true" } })] },
      undefined,
    ],
    [
      "a workload of its node, which is silent",
      { tickets: [back], nodes: [node("a", "Suspect")] },
      undefined,
    ],
    ["a workload whose object is gone", { tickets: [back], ownersGone: ["c"] }, undefined],
    ["a workload of its node, of a volume that goes", { tickets: [back], deleting: true }, undefined],
    ["nobody", {}, undefined],
  ];
  for (const [who, setup, to] of STAYS) {
    test(`a volume whose device is kept open by its users: ${who} ${to === undefined ? "waits until they end" : "has it at once"}`, () => {
      assert.equal(placed({ ...open, ...setup }), to);
      // What is about to be closed is closed first.
      const { error: _, ...closing } = open.status;
      assert.equal(placed({ ...setup, status: closing }), undefined);
    });
  }

  test("who waits for users of the device learns who they are", () => {
    const tickets = [ticket("c", "csi-attacher", "b"), ticket("s", "snapshot-controller", "a")];
    const { results } = decide(view({ ...open, tickets }));
    assert.deepEqual([results["c"]?.reason, results["s"]?.reason], ["WaitingDetach", "Detaching"]);
    for (const { message } of Object.values(results)) assert.match(message, /in use: mounted at \/p$/);
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
  for (const [name, present, yields] of YIELDING) {
    test(`${name} ${yields ? "yields to" : "is not interrupted by"} a workload on another node`, () => {
      covers("LHA-073");
      const tickets = [present, ticket("w", "csi-attacher", "b")];
      const decision = decide(view({ ...on("a"), tickets }));
      assert.equal(decision.placement?.nodeID, yields ? "" : undefined);
      assert.equal(decision.results.x?.satisfied, !yields);
    });
  }

  test("nobody yields to a workload that could not be attached anyway", () => {
    covers("LHA-073");
    const tickets = [ticket("x", "snapshot-controller", "a"), ticket("w", "csi-attacher", "b")];
    assert.equal(placed({ ...on("a"), tickets, nodes: [node("a"), node("b", "Suspect")] }), undefined);
  });

  test("a silent node keeps its volume until it is fenced or gone", () => {
    const tickets = [ticket("x", "csi-attacher", "a"), ticket("y", "csi-attacher", "b")];
    const state = (first: State) =>
      decide(view({ ...on("a"), tickets, nodes: [node("a", first), node("b")] }));
    assert.equal(state("Suspect").placement, undefined);
    assert.equal(state("Suspect").results.y?.reason, "NodeUnfenced");
    assert.equal(state("Fenced").placement?.nodeID, "");
    assert.equal(state("Gone").placement?.nodeID, "");
  });

  test("a faulted volume is detached, and goes back by its ticket once it is healed", () => {
    covers("LHA-055", "LHA-056", "LHA-057", "LHA-072");
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
