import assert from "node:assert/strict";
import { test } from "node:test";
import { decide } from "../cluster/arbiter/decide.ts";
import type { ArbiterView, Decision } from "../cluster/arbiter/view.ts";
import { search } from "./search.ts";

/** Takes the volume to node "b", whoever asked for it elsewhere. */
function obstinate(view: ArbiterView): Decision {
  const { placement, ...decision } = decide(view);
  if (placement === undefined) return decision;
  return { ...decision, placement: { ...placement, nodeID: placement.nodeID === "" ? "" : "b" } };
}

test("a history that breaks a property is made small, and lists what happened", () => {
  const [what = "", ...lines] = (search(2000, obstinate) ?? "").split("\n");
  assert.match(what, /^Error: S4: no ticket asked for node "b"$/);
  const end = lines.pop() ?? "";
  assert.match(end, /^\(seed -?\d+, path [\d:]+, shrunk [1-9]\d* times\)$/);
  const texts = lines.map((line, index) => {
    assert.ok(line.startsWith(`${String(index).padStart(4)}. `), line);
    return line.slice(6);
  });
  assert.match(
    texts[0] ?? "",
    /^a (private|shared|migratable) volume (in Kubernetes|of a driver alone) that /,
  );
  // One who asks, and the arbiter, which reads and writes results, and then what it decides.
  const asked = texts.filter((line) => line.includes(" asks for node "));
  assert.equal(asked.length, 1, texts.join("\n"));
  assert.match(asked[0] ?? "", /^ticket "\w+" \([a-z-]+, \{.*\}\) asks for node "[ac]"$/);
  assert.equal(texts.at(-1), "the arbiter reads the tickets and is about to record-results and place-volume");
  assert.ok(texts.length <= 20, texts.join("\n"));
});

test("an arbiter that breaks nothing has no story", () => {
  assert.equal(search(50), undefined);
});
