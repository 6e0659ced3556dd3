import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { decide } from "./decide.ts";
import { NOW, node, type Setup, ticket, view } from "./testing/build-view.ts";

const on = (nodeID: string, more: Setup = {}): Setup => ({
  ...more,
  spec: { nodeID, ...more.spec },
  status: { state: "attached", currentNodeID: nodeID, ...more.status },
});
const hidden = { parameters: { disableFrontend: "true" } };
const either = { parameters: { disableFrontend: "any" } };

/** Name, what is there, the ticket that asks, and its result. */
const RESULTS: [string, Setup, string, string, RegExp][] = [
  [
    "a snapshot that gives way learns for whom",
    on("a", { tickets: [ticket("s", "snapshot-controller", "a"), ticket("w", "csi-attacher", "b")] }),
    "s",
    "Detaching",
    /for ticket "w" \(csi-attacher\)/,
  ],
  [
    "the workload that it gives way to waits for the detach",
    on("a", { tickets: [ticket("s", "snapshot-controller", "a"), ticket("w", "csi-attacher", "b")] }),
    "w",
    "WaitingDetach",
    /from node "a"/,
  ],
  [
    "a ticket that wants other parameters learns who keeps them, not who is content with both",
    on("a", {
      tickets: [
        ticket("b", "backup-controller", "a", either),
        ticket("h", "volume-restore-controller", "a", hidden),
        ticket("w", "csi-attacher", "a"),
      ],
      spec: { disableFrontend: true },
      status: { frontendDisabled: true },
    }),
    "w",
    "AttachedWithIncompatibleParameters",
    /without its device by ticket "h" \(volume-restore-controller\)/,
  ],
  [
    "a ticket that waits for a node that is silent says that a fence would help, also while it detaches",
    {
      tickets: [ticket("w", "csi-attacher", "b")],
      nodes: [node("a", "Suspect"), node("b")],
      status: { state: "detaching", currentNodeID: "a" },
    },
    "w",
    "NodeUnfenced",
    /fence the node/,
  ],
  [
    "a ticket on a fenced node is not satisfied, whatever is recorded",
    on("a", { tickets: [ticket("w", "csi-attacher", "a")], nodes: [node("a", "Fenced")] }),
    "w",
    "NodeNotReady",
    /Fenced/,
  ],
  [
    "an attach that waits for a silent node says so",
    {
      tickets: [ticket("w", "csi-attacher", "a")],
      nodes: [node("a", "Suspect")],
      spec: { nodeID: "a" },
      status: { state: "attaching" },
    },
    "w",
    "NodeNotReady",
    /has to open the volume/,
  ],
  [
    "a ticket without a number is never satisfied",
    on("a", { tickets: [ticket("w", "csi-attacher", "a", { generation: 0 })] }),
    "w",
    "GenerationPending",
    /number/,
  ],
  [
    "the result of an expired ticket is that its time is over",
    on("a", { tickets: [ticket("w", "longhorn-api", "a", { expiresAt: NOW.toISOString() })] }),
    "w",
    "Expired",
    /over/,
  ],
  [
    "the result of a ticket without owner is that its object is gone",
    on("a", { tickets: [ticket("w", "backup-controller", "a")], ownersGone: ["w"] }),
    "w",
    "OwnerGone",
    /does not exist/,
  ],
];

describe("the results of tickets while others have the volume", () => {
  for (const [name, setup, id, reason, message] of RESULTS) {
    test(name, () => {
      const result = decide(view(setup)).results[id];
      assert.deepEqual([result?.satisfied, result?.reason], [false, reason]);
      assert.match(result?.message ?? "", message);
    });
  }
});

describe("giving way", () => {
  test("a waiting clone without device gives way to a workload on its own node, and does not come back", () => {
    const parameters = { disableFrontend: "true", cloneWaiting: "true" };
    const tickets = [
      ticket("c", "volume-clone-controller", "a", { parameters }),
      ticket("w", "csi-attacher", "a"),
    ];
    const hiddenOnA = on("a", {
      tickets,
      spec: { disableFrontend: true },
      status: { frontendDisabled: true },
    });
    assert.equal(decide(view(hiddenOnA)).placement?.nodeID, "");
    const next = decide(view({ tickets })).placement;
    assert.deepEqual([next?.nodeID, next?.disableFrontend], ["a", false]);
    assert.equal(decide(view(on("a", { tickets }))).placement, undefined);
  });

  test("a silent node that has not begun to open the volume does not keep others waiting", () => {
    const tickets = [ticket("w", "csi-attacher", "a"), ticket("x", "csi-attacher", "b")];
    const nodes = [node("a", "Suspect"), node("b")];
    assert.equal(decide(view({ tickets, nodes, spec: { nodeID: "a" } })).placement?.nodeID, "");
    const begun = { spec: { nodeID: "a" }, status: { state: "attaching" as const } };
    assert.equal(decide(view({ tickets, nodes, ...begun })).placement, undefined);
  });
});
