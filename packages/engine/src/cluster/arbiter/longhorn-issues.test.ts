import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, test } from "node:test";
import { decide } from "./decide.ts";
import { NOW, node, type Setup, ticket, view } from "./testing/build-view.ts";

const onA = (more: Setup): Setup => ({
  ...more,
  spec: { nodeID: "a", ...more.spec },
  status: { state: "attached", currentNodeID: "a", ...more.status },
});
const csiOnB = ticket("w", "csi-attacher", "b");
const allNodes = ["a", "b", "c"];

/** Of a test that is named by numbers: those, and what it says. */
const TITLE = /\btest\(\s*"([0-9, ]+): ([^"]*)"/g;

interface Lists {
  tested: Record<string, string>;
  /** Bugs of controllers that are not here: what the arbiter does about them is tested, with a test in their place. */
  arbiterOnly: Record<string, { test: string; missing: string }>;
}

describe("bugs that a predecessor had, by their number there", () => {
  test("13633: a ticket that strands the volume names itself, and ends at its expiry", () => {
    const parameters = { disableFrontend: "true" };
    const operator = ticket("ui", "longhorn-api", "a", { parameters, expiresAt: "2026-01-01T00:01:00Z" });
    const setup = onA({
      tickets: [operator, ticket("w", "csi-attacher", "a")],
      spec: { disableFrontend: true },
      status: { frontendDisabled: true },
    });
    assert.match(decide(view(setup)).results["w"]?.message ?? "", /by ticket "ui" \(longhorn-api\)/);
    const later = decide({ ...view(setup), now: new Date(NOW.getTime() + 60_000) });
    assert.deepEqual([later.remove, later.placement?.nodeID], [{ ui: "Expired" }, ""]);
  });

  test("13049, 6652: a ticket whose snapshot is gone goes with it", () => {
    const decision = decide(
      view(onA({ tickets: [ticket("s", "snapshot-controller", "a")], ownersGone: ["s"] })),
    );
    assert.deepEqual([decision.remove, decision.placement?.nodeID], [{ s: "OwnerGone" }, ""]);
  });

  test("7937: no ticket is satisfied from the moment a detach is decided", () => {
    const tickets = [ticket("s", "snapshot-controller", "a"), csiOnB];
    const { placement, results } = decide(view(onA({ tickets })));
    assert.equal(placement?.nodeID, "");
    assert.ok(Object.values(results).every(({ satisfied }) => !satisfied));
  });

  test("10090, 9934, 10171: a stuck backup does not keep the volume from a workload", () => {
    const tickets = [ticket("b", "backup-controller", "a"), csiOnB];
    assert.equal(decide(view(onA({ tickets }))).placement?.nodeID, "");
    assert.equal(decide(view({ tickets })).placement?.nodeID, "b");
  });

  test("12562, 11619: a job for a node that is not ready is never picked", () => {
    for (const state of ["Suspect", "Fenced", "Gone"] as const) {
      const tickets = [ticket("b", "backup-controller", "a"), ticket("other", "backup-controller", "b")];
      const nodes = [node("a", state), node("b")];
      assert.equal(decide(view({ tickets, nodes })).placement?.nodeID, "b");
    }
  });

  test("9039, 12049, 2947, 1985, 2445, 2618: the ticket of a fenced node gives the volume to the one that is ready", () => {
    const tickets = [ticket("old", "csi-attacher", "a"), csiOnB];
    const nodes = [node("a", "Fenced"), node("b")];
    assert.equal(decide(view(onA({ tickets, nodes }))).placement?.nodeID, "");
    assert.equal(decide(view({ tickets, nodes })).placement?.nodeID, "b");
    const silent = onA({
      tickets,
      nodes: allNodes.map((name) => node(name, name === "a" ? "Suspect" : "Ready")),
    });
    assert.equal(decide(view(silent)).placement, undefined);
  });

  test("2527, 2517: the wish is kept in tickets alone: a faulted volume comes back by them", () => {
    const tickets = [ticket("w", "csi-attacher", "a")];
    assert.equal(decide(view(onA({ tickets, status: { robustness: "faulted" } }))).placement?.nodeID, "");
    const faulted = decide(view({ tickets, status: { robustness: "faulted" } }));
    assert.deepEqual([faulted.placement, faulted.results["w"]?.reason], [undefined, "VolumeFaulted"]);
    assert.equal(decide(view({ tickets, status: { robustness: "unknown" } })).placement?.nodeID, "a");
  });

  test("every number that is listed as tested has its test, and says what that shows", async () => {
    const read = (name: string) => readFile(new URL(name, import.meta.url), "utf8");
    const lists: Lists = JSON.parse(await read("longhorn-issues.json"));
    const rows = Object.entries(lists.tested);
    for (const [number, { test: what, missing }] of Object.entries(lists.arbiterOnly)) {
      assert.ok(missing.length > 0 && lists.tested[number] === undefined, number);
      rows.push([number, what]);
    }
    const source = await read("longhorn-issues.test.ts");
    const wrong: string[] = [];
    for (const [number, row] of rows) {
      // Tests elsewhere are named by their file, from the folder of the repository.
      const [, elsewhere, what = ""] = /^(?:(\S+\.test\.ts): )?(.*)$/.exec(row) ?? [];
      const text = elsewhere === undefined ? source : await read(`../../../../../${elsewhere}`);
      const titles = [...text.matchAll(TITLE)].map(([, numbers = "", title = ""]) => ({ numbers, title }));
      const own = titles.filter(({ numbers }) => numbers.split(", ").includes(number));
      if (!own.some(({ title }) => title.includes(what))) wrong.push(`${number}: ${row}`);
    }
    assert.deepEqual(wrong, []);
  });
});
