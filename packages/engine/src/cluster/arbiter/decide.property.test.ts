import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { covers, howMany } from "@mooring/store/testing";
import fc from "fast-check";
import type { AttacherType, AttachmentTicket } from "../../api/attachment.ts";
import { ATTACHER_RULES, CLONE_WAITING } from "../../tickets/attacher-types.ts";
import { decide } from "./decide.ts";
import { node, type NodeState as State, view } from "./testing/build-view.ts";
import type { ArbiterView, Decision } from "./view.ts";

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
  const always = (property: (s: AnySetup, decision: Decision) => boolean) =>
    fc.assert(
      fc.property(anySetup, (s) => property(s, decide(build(s)))),
      { numRuns: howMany({ everyday: 1_000, full: 3_000 }) },
    );

  test("the spec moves only from empty to a node or from a node to empty", () =>
    always(
      (s, { placement }) =>
        placement === undefined ||
        (s.nodeID === "") !== (placement.nodeID === "") ||
        (s.nodeID === placement.nodeID && s.disableFrontend !== placement.disableFrontend),
    ));

  test("it attaches only a fully detached, healthy volume, to a ready node that a ticket names", () =>
    always((s, { placement }) => {
      if (placement === undefined || placement.nodeID === "" || placement.nodeID === s.nodeID) return true;
      const repairs = s.tickets.some((t) => ATTACHER_RULES[t.type].repairs === true);
      const ready = s.nodes[nodeIDs.indexOf(placement.nodeID)] === "Ready";
      const asked = s.tickets.some((t) => t.nodeID === placement.nodeID);
      const free =
        s.state === "detached" && s.currentNodeID === "" && (s.robustness === "healthy" || repairs);
      return ready && asked && free && !s.deleting;
    }));

  test("a workload's volume is only taken away when it is faulted or its node is fenced", () =>
    always((s, { placement }) => {
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
    always((s, { placement, results }) => {
      const satisfied = s.tickets.filter((t) => results[t.id]?.satisfied === true);
      if (satisfied.length === 0) return true;
      const stays =
        (placement === undefined || placement.nodeID === s.nodeID) &&
        s.state === "attached" &&
        s.currentNodeID === s.nodeID;
      return stays && satisfied.every((t) => t.nodeID === s.nodeID);
    }));

  test("every ticket has a result with a reason and a sentence", () =>
    always((s, { results }) => s.tickets.every((t) => (results[t.id]?.message.length ?? 0) > 0)));

  test("the order in which tickets were added does not matter", () =>
    always((s, decision) => {
      assert.deepEqual(decide(build(s, [...s.tickets].reverse())), decision);
      return true;
    }));

  test("with fixed tickets the volume comes to rest, attached when some ticket can be", () => {
    covers("LHA-002", "LHA-004");
    return fc.assert(
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
            return !some || Object.values(decide(build(current)).results).some((v) => v.satisfied);
          }
          current = next;
        }
        return false;
      }),
      { numRuns: howMany({ everyday: 700, full: 2_000 }) },
    );
  });
});
