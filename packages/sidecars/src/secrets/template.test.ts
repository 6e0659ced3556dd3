// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the templates under test look like that

import assert from "node:assert/strict";
import { test } from "node:test";
import { expandTemplate, isDnsLabel, isDnsSubdomain } from "./template.ts";

const tokens = { "pvc.namespace": "team", "pvc.annotations['team.example/key']": "k1", name: "n" };

test("tokens are replaced in both forms of a reference", () => {
  assert.equal(expandTemplate("a-${pvc.namespace}-b", tokens), "a-team-b");
  assert.equal(expandTemplate("$name-${pvc.annotations['team.example/key']}", tokens), "n-k1");
  assert.equal(expandTemplate("plain", tokens), "plain");
});

test("unknown tokens are all named, and a dollar cannot be escaped", () => {
  assert.throws(() => expandTemplate("${pvc.name}-${x}", tokens), /invalid tokens: \["pvc.name" "x"\]/);
  assert.throws(() => expandTemplate("$$name", tokens), /invalid tokens: \["\$"\]/);
  assert.throws(() => expandTemplate("${toString}", tokens), /invalid tokens/);
});

test("results must be names of Kubernetes", () => {
  assert.ok(isDnsLabel("team-1"));
  assert.ok(!isDnsLabel("team.one"));
  assert.ok(!isDnsLabel("a".repeat(64)));
  assert.ok(isDnsSubdomain("team.one"));
  assert.ok(!isDnsSubdomain("Team"));
  assert.ok(!isDnsSubdomain("team..one"));
});
