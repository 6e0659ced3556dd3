import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { covers } from "@mooring/store/testing";
import type { AttachmentTicket } from "../../../api/attachment.ts";
import type { TicketReason } from "../../../tickets/result.ts";
import { summaryOf } from "../../../tickets/summary.ts";
import { decide } from "../decide.ts";
import { eventsOf } from "../events.ts";
import { node, type Setup, ticket, view } from "../testing/build-view.ts";
import { nextWrite, placed } from "../writes.ts";

const onA = ticket("wa", "csi-attacher", "a");
const onB = ticket("wb", "csi-attacher", "b");
const onC = ticket("wc", "csi-attacher", "c");

const MIGRATABLE = { accessMode: "rwx", volumeMode: "Block" as const, migratable: true };

/** `a>b` is wanted on a and moving to b; `a+b` is open on a, and withheld on b. */
function moving(wanted: string, open: string, tickets: AttachmentTicket[], more: Setup = {}) {
  const [nodeID = "", migrationNodeID = ""] = wanted.split(">");
  const [currentNodeID = "", currentMigrationNodeID = ""] = open.split("+");
  const state = currentNodeID === "" ? ("detached" as const) : ("attached" as const);
  return view({
    ...more,
    tickets,
    spec: { ...MIGRATABLE, nodeID, migrationNodeID, ...more.spec },
    status: { state, currentNodeID, currentMigrationNodeID, frontendDisabled: false, ...more.status },
  });
}

/** Where the decision leaves the volume, as `wanted>moving to`, and the results of the tickets. */
function decided(seen: ReturnType<typeof view>): [string, ...TicketReason[]] {
  const { placement, results } = decide(seen);
  const { nodeID = "", migrationNodeID = "" } =
    placement === undefined ? seen.volume.spec : placed(seen.volume, placement).spec;
  const reasons = Object.keys(results)
    .sort()
    .flatMap((id) => results[id]?.reason ?? []);
  return [migrationNodeID === "" ? nodeID : `${nodeID}>${migrationNodeID}`, ...reasons];
}

const gone = (name: "a" | "b", state: "Suspect" | "Fenced") => ({
  nodes: ["a", "b", "c"].map((each) => node(each, each === name ? state : "Ready")),
});

/** wanted, open, tickets, what else -> wanted and moving to, results of the tickets by name. */
const TABLE: readonly [string, Parameters<typeof moving>, ReturnType<typeof decided>][] = [
  ["a second workload begins it", ["a", "a", [onA, onB]], ["a>b", "Attached", "MigrationWaiting"]],
  ["the target opens its device", ["a>b", "a", [onA, onB]], ["a>b", "Attached", "MigrationWaiting"]],
  ["both have a device", ["a>b", "a+b", [onA, onB]], ["a>b", "Attached", "Migrating"]],
  ["the first one leaves: confirmed", ["a>b", "a+b", [onB]], ["b", "Migrating"]],
  ["the source gives it away", ["b", "a+b", [onB]], ["b", "Migrating"]],
  ["it has moved", ["b", "b", [onB]], ["b", "Attached"]],
  ["the second one leaves: rolled back", ["a>b", "a+b", [onA]], ["a", "Attached"]],
  ["the target closes its device", ["a", "a+b", [onA]], ["a", "Attached"]],
  ["it comes back too early", ["a", "a+b", [onA, onB]], ["a", "Attached", "MigrationWaiting"]],
  ["both leave", ["a>b", "a+b", []], [""]],
  ["the first leaves too early: detached, then attached", ["a>b", "a", [onB]], ["", "WaitingDetach"]],
  [
    "a third has to wait",
    ["a>b", "a+b", [onA, onB, onC]],
    ["a>b", "Attached", "Migrating", "MigrationWaiting"],
  ],
  ["not before it is attached", ["a", "", [onA, onB]], ["a", "Attaching", "MigrationWaiting"]],
  ["two on a detached volume", ["", "", [onA, onB]], ["", "MigrationWaiting", "MigrationWaiting"]],
  ["a device that is left on a detached volume", ["", "+b", [onA]], ["", "MigrationWaiting"]],
];

describe("live migration", () => {
  covers("LHA-061", "LHA-074", "LHA-078");
  for (const [name, setup, wanted] of TABLE) {
    test(name, () => assert.deepEqual(decided(moving(...setup)), wanted));
  }

  test("a volume that is not migratable, or not a block volume, stays where it is", () => {
    for (const spec of [
      { migratable: false },
      { accessMode: "rwo" },
      { volumeMode: "Filesystem" as const },
    ]) {
      const [where, , reason] = decided(moving("a", "a", [onA, onB], { spec }));
      assert.deepEqual([where, reason], ["a", "BlockedByUninterruptible"]);
    }
  });

  test("a job keeps a migration from its beginning, and from being confirmed, until it ends; a snapshot does not", () => {
    const job = ticket("x", "volume-eviction-controller", "a", { parameters: { disableFrontend: "any" } });
    const waits = decide(moving("a", "a", [onA, onB, job]));
    assert.equal(waits.placement, undefined);
    assert.match(waits.results["wb"]?.message ?? "", /waits: ticket "x" \(volume-eviction-controller\)/);
    assert.equal(decided(moving("a>b", "a+b", [onB, job]))[0], "a>b");
    // The job needs no device; the target was promised one.
    assert.equal(decide(moving("a>b", "a+b", [onB, job])).placement, undefined);
    const snapshot = ticket("x", "snapshot-controller", "a", { parameters: { disableFrontend: "any" } });
    assert.equal(decided(moving("a", "a", [onA, onB, snapshot]))[0], "a>b");
    assert.equal(decided(moving("a>b", "a+b", [onB, snapshot]))[0], "b");
  });

  test("3401: a target that dies ends the migration when it is fenced; the source goes on meanwhile", () => {
    assert.deepEqual(decided(moving("a>b", "a+b", [onA, onB], gone("b", "Suspect"))), [
      ...["a>b", "Attached", "NodeNotReady"],
    ] as unknown as ReturnType<typeof decided>);
    assert.equal(decided(moving("a>b", "a+b", [onA, onB], gone("b", "Fenced")))[0], "a");
    assert.equal(decided(moving("a>b", "a+b", [onB], gone("b", "Suspect")))[0], "");
  });

  test("9039, 12049: a source that dies gives the volume to the target, when it is fenced and not before", () => {
    assert.equal(decided(moving("a>b", "a+b", [onA, onB], gone("a", "Suspect")))[0], "a>b");
    assert.equal(decided(moving("a>b", "a+b", [onA, onB], gone("a", "Fenced")))[0], "");
    assert.equal(decided(moving("", "", [onA, onB], gone("a", "Fenced")))[0], "b");
  });

  test("11149, 10157, 11755: it is confirmed in one decision, and a migration that cannot be is no obstacle", () => {
    assert.equal(decide(moving("a>b", "a+b", [onB])).placement?.nodeID, "b");
    assert.equal(decided(moving("a>b", "a", [onB]))[0], "");
    assert.deepEqual(decided(moving("", "", [onB])), ["b", "Attaching"]);
  });

  test("11479, 6642: a rolled back migration begins anew only when the target has closed its device", () => {
    const waiting = decide(moving("a", "a+b", [onA, onB]));
    assert.equal(waiting.placement, undefined);
    assert.match(waiting.results["wb"]?.message ?? "", /node "b" has not closed its device yet/);
    assert.equal(decided(moving("a", "a", [onA, onB]))[0], "a>b");
  });

  test("13109: a node that does not respond for a while loses neither its device nor the migration", () => {
    for (const name of ["a", "b"] as const) {
      assert.equal(decide(moving("a>b", "a+b", [onA, onB], gone(name, "Suspect"))).placement, undefined);
    }
  });

  test("6215: snapshots of the source, whatever their number, do not stand in the way of the move", () => {
    const snapshots = [1, 2, 3].map((n) =>
      ticket(`s${n}`, "snapshot-controller", "a", { parameters: { disableFrontend: "any" } }),
    );
    assert.equal(decided(moving("a>b", "a+b", [onB, ...snapshots]))[0], "b");
  });

  test("a faulted volume ends its migration and is detached", () => {
    const seen = moving("a>b", "a+b", [onA, onB], { status: { robustness: "faulted" } });
    assert.equal(decided(seen)[0], "");
  });

  test("every step is reported by an event, and by the status of the tickets", () => {
    const reported = (seen: ReturnType<typeof view>) => {
      const decision = decide(seen);
      const { status: _, ...attachment } = seen.attachment;
      const status = nextWrite({ ...seen, attachment }, decision);
      const settled = status?.do === "record-results" ? { ...seen, attachment: status.attachment } : seen;
      const write = nextWrite(settled, decision);
      const reason = write === undefined ? undefined : eventsOf(settled, write)[0]?.reason;
      return [reason, summaryOf(seen.volume, seen.attachment, decision.results).migration];
    };
    assert.deepEqual(reported(moving("a", "a", [onA, onB])), ["MigrationStarted", undefined]);
    assert.deepEqual(reported(moving("a>b", "a", [onA, onB])), [undefined, "step 1 of 3: a to b"]);
    assert.deepEqual(reported(moving("a>b", "a+b", [onB])), ["MigrationConfirmed", "step 2 of 3: a to b"]);
    assert.deepEqual(reported(moving("a>b", "a+b", [onA])), ["MigrationRolledBack", "step 2 of 3: a to b"]);
    assert.deepEqual(reported(moving("a>b", "a+b", [])), ["MigrationAborted", "step 2 of 3: a to b"]);
    assert.deepEqual(reported(moving("b", "a+b", [onB])), [undefined, "step 3 of 3: a to b"]);
    assert.deepEqual(reported(moving("a", "a+b", [onA])), [undefined, "rolling back: a to b"]);
  });
});
