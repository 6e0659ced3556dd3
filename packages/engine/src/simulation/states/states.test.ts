import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, test } from "node:test";
import { covers } from "@mooring/store/testing";
import { decide } from "../../cluster/arbiter/decide.ts";
import type { ArbiterView } from "../../cluster/arbiter/view.ts";
import { agentStep } from "../agent.ts";
import type { SimVolume } from "../model.ts";
import { liveOn } from "./life.ts";
import { statesPage } from "./page.ts";
import { CASES, type Case, ELSEWHERE, HERE, type StateRow, stateRows, viewOf } from "./rows.ts";

/** Both agents and the arbiter, in turn, until nobody has anything to do. */
function settle(view: ArbiterView, opener: string): SimVolume {
  const status = view.volume.status ?? { state: "detached" as const };
  let volume: SimVolume = { ...view.volume, status, opener };
  const open = new Set(opener === "" ? [] : [opener]);
  for (let round = 0; round < 50; round += 1) {
    const before = JSON.stringify([volume, [...open]]);
    const { placement } = decide({ ...view, volume });
    if (placement !== undefined) volume = { ...volume, spec: { ...volume.spec, ...placement } };
    for (const node of [HERE, ELSEWHERE]) {
      const step = agentStep(node, volume, { open: open.has(node) });
      if (step?.do === "record") volume = step.next;
      else if (step?.do === "open") open.add(node);
      else if (step?.do === "close") open.delete(node);
      assert.ok(open.size <= 1, "two devices are open");
    }
    if (before === JSON.stringify([volume, [...open]])) return volume;
  }
  assert.fail(`it never comes to rest: ${JSON.stringify(volume)}`);
}

/** Who has the device open: who is named; and where nobody is, in between, the node that the row is about. */
function openerOf({ wanted, current, state }: StateRow): string {
  if (current !== "nowhere") return current;
  if (state === "detached") return "";
  return wanted === "nowhere" ? HERE : wanted;
}

/** Those that the attachment machine has to do with, and those of a volume that is made or goes. */
const isAttachment = ({ state }: StateRow): boolean => state !== "creating" && state !== "deleting";
const ATTACHMENTS = stateRows().filter(isAttachment);
const LIVES = stateRows().filter((row) => !isAttachment(row));

describe("every combination of wanted node, current node and state", () => {
  covers("LHA-004", "LHA-080");
  for (const row of ATTACHMENTS) {
    const { wanted, current, state } = row;
    for (const tickets of Object.keys(CASES) as Case[]) {
      test(`wanted ${wanted}, current ${current}, ${state}; ticket: ${tickets}`, () => {
        const [asker = ""] = CASES[tickets];
        const end = settle(viewOf(row, CASES[tickets]), openerOf(row));
        const { state: last, currentNodeID = "" } = end.status;
        assert.deepEqual([end.spec.nodeID, currentNodeID], [asker, asker]);
        assert.equal(last, asker === "" ? "detached" : "attached");
      });
    }
  }

  for (const row of LIVES) {
    const { wanted, current, state } = row;
    for (const tickets of Object.keys(CASES) as Case[]) {
      test(`wanted ${wanted}, current ${current}, ${state}; ticket: ${tickets}`, () => {
        const view = viewOf(row, CASES[tickets]);
        // While it is made, or goes, nothing is placed; a volume without a ticket is wanted nowhere any more.
        const { placement } = decide(view);
        assert.equal(placement?.nodeID ?? "", "");
        const { action, end } = liveOn(view.volume, HERE);
        assert.deepEqual([action, end === undefined], [row.agent, state === "deleting"]);
        if (end === undefined) return;
        // As in a shared pool: whoever made it releases it.
        const { ownerID: _, ...made } = end.status ?? { state: "detached" };
        const [asker = ""] = CASES[tickets];
        const { status, spec } = settle({ ...view, volume: { ...end, status: made } }, "");
        assert.deepEqual([spec.nodeID, status.currentNodeID ?? ""], [asker, asker]);
      });
    }
  }

  test("there are as many rows as combinations", () => {
    const rows = stateRows().map(({ wanted, current, state }) => [wanted, current, state].join());
    assert.deepEqual([rows.length, new Set(rows).size], [3 * 3 * 6, 3 * 3 * 6]);
  });

  test("without a ticket nothing is attached again, whatever the record says, faulted or repaired", async () => {
    covers("LHA-028");
    for (const row of ATTACHMENTS) {
      for (const robustness of ["healthy", "unknown", "faulted"] as const) {
        const { status, spec } = settle(viewOf(row, [], { robustness }), openerOf(row));
        assert.deepEqual([status.state, status.currentNodeID ?? "", spec.nodeID], ["detached", "", ""]);
      }
    }
    const crd = new URL("../../../../../deploy/crds/storage.mooring.dev_volumes.yaml", import.meta.url);
    assert.doesNotMatch(await readFile(crd, "utf8"), /pendingNodeID/i);
  });

  test("no row sets a node over another one, or clears what a ticket keeps", () => {
    for (const { wanted, arbiter, state, current } of stateRows()) {
      for (const { spec } of Object.values(arbiter)) {
        if (spec === "set") assert.deepEqual([wanted, current, state], ["nowhere", "nowhere", "detached"]);
      }
      if (wanted === "here") assert.equal(arbiter.here.spec, "keep");
      if (wanted === "elsewhere") assert.equal(arbiter.elsewhere.spec, "keep");
      if (wanted !== "nowhere") assert.equal(arbiter.none.spec, "clear");
    }
  });

  test("8735, 11142: the page says what the code does", async () => {
    const page = new URL("../../../../../docs/reference/attachment-states.md", import.meta.url);
    assert.equal(await readFile(page, "utf8"), statesPage(), "run: npm run conformance");
  });
});
