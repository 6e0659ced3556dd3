import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const PACKAGES = join(ROOT, "packages");

/** No names of ours: a reader who knows Kubernetes and CSI looks for the term behind them. */
const TERMS: Readonly<Record<string, string>> = {
  "tell tells telling told untold word": "report, reported, message",
  "cut cuts cutting": "copy, snapshot, truncate, fence",
  "look looks looked looking sight": "read, input, observe",
  "hold holds held": "ticket, lease, finalizer, frozen",
  "answer answers answered question questions": "result, response, request, requestKey",
  "pause pauses paused": "backoff, delay",
  "gap gaps": "failpoint, interval",
  "guard guards guarded": "finalizer, protection",
  "judge judged verdict": "evaluate, result",
  "concern concerned mend mends mended": "responsible, affected, repair",
  "person people stranger strangers ghost breather": "operator, user, untrusted client, orphaned",
  "say says said": "report, log, return",
};

/** Names that stay, by file or by identifier, and why. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  "guard.ts": "the guard process of a shared pool (docs/glossary.md)",
  "guard.test.ts": "the same",
  "guard-program.ts": "the same",
  DeviceGuard: "the same",
  HeldLease: "a Lease is held: holderIdentity",
  LeaseHeldElsewhere: "a Lease is held: holderIdentity",
  "writers-held.test.ts": "condition WritersHeld, a public name",
  "writers-not-held.ts": "condition WritersHeld, a public name",
  requireWritersNotHeld: "condition WritersHeld, a public name",
  writersHeldMessage: "condition WritersHeld, a public name",
  "where-to-look.test.ts": "the page of that name",
  "say.mjs": "what scripts print for who runs them",
};

/** Steps and failpoints that stay, and why. */
const STEP_EXCEPTIONS: Readonly<Record<string, string>> = {
  "guard-device": "the guard process of a shared pool (docs/glossary.md)",
  "hold-writers": "spec.holdWriters of a pool, a public name",
};

/** The names of steps and failpoints: what logs, metrics and tests print. */
const STEP = /\bdo: "([^"]+)"|\b(?:fail)?point\(\s*"([^"]+)"/g;

/** Names that were in use and are ours alone, whole: the term to take instead. */
const RETIRED: Readonly<Record<string, string>> = {
  "record-opened": "intent-saved",
  "record-closed": "intent-deleted",
  "object-created": "pv-created",
  "create-object": "create-pv",
  "hold-claim": "protect-claims",
};

const REPLACEMENT = new Map(
  Object.entries(TERMS).flatMap(([words, term]) => words.split(" ").map((word) => [word, term] as const)),
);
const EXPORT =
  /^export (?:declare |abstract |async )*(?:function\*?|class|interface|type|const|let|enum) (\w+)/gm;

/** What to call it instead, where a part of the name is no term. */
function termsFor(name: string): string[] {
  const parts = name.split(/(?=[A-Z])|[-_.]/).map((part) => part.toLowerCase());
  return parts.flatMap((part) => REPLACEMENT.get(part) ?? []);
}

test("files and exports are named by the field's terms", async () => {
  const unused = new Set(Object.keys(EXCEPTIONS));
  const wrong = new Set<string>();
  const check = (name: string, where: string) => {
    const terms = termsFor(name);
    if (terms.length > 0 && !unused.delete(name) && !(name in EXCEPTIONS))
      wrong.add(`${where}: ${name}; the term is ${terms.join(", or ")}`);
  };
  for (const name of await readdir(PACKAGES)) {
    for (const path of await readdir(join(PACKAGES, name, "src"), { recursive: true })) {
      check(basename(path), `${name}/src/${path}`);
      if (!path.endsWith(".ts") || path.endsWith(".test.ts") || /\bgen\//.test(path)) continue;
      const text = await readFile(join(PACKAGES, name, "src", path), "utf8");
      for (const [, exported = ""] of text.matchAll(EXPORT)) check(exported, `${name}/src/${path}`);
    }
  }
  for (const folder of ["test", "scripts", "examples"])
    for (const path of await readdir(join(ROOT, folder), { recursive: true }))
      if (!path.includes("node_modules")) check(basename(path), `${folder}/${path}`);
  assert.deepEqual([...wrong], []);
  assert.deepEqual([...unused], [], "exceptions that nothing needs");
});

test("steps and failpoints are named by the field's terms", async () => {
  const wrong: string[] = [];
  const unused = new Set(Object.keys(STEP_EXCEPTIONS));
  for (const name of await readdir(PACKAGES)) {
    for (const path of await readdir(join(PACKAGES, name, "src"), { recursive: true })) {
      if (!path.endsWith(".ts") || path.endsWith(".test.ts") || /\bgen\//.test(path)) continue;
      const text = await readFile(join(PACKAGES, name, "src", path), "utf8");
      for (const [, step, failpoint] of text.matchAll(STEP)) {
        const full = step ?? failpoint ?? "";
        const retired = RETIRED[full.split("/").at(-1) ?? ""];
        const terms = [...termsFor(full.replaceAll("/", "-")), ...(retired === undefined ? [] : [retired])];
        if (terms.length > 0 && !unused.delete(full) && !(full in STEP_EXCEPTIONS))
          wrong.push(`${name}/src/${path}: ${full}; the term is ${terms.join(", or ")}`);
      }
    }
  }
  assert.deepEqual(wrong, []);
  assert.deepEqual([...unused], [], "exceptions that nothing needs");
});

/** What no name within a module is called either. Of the other terms, some are others' words as well: a stream pauses. */
const NEVER = new Set(
  "tell tells told look looks looked sight answer answers answered question questions judge judged verdict concern concerned mend mends mended person people stranger strangers ghost breather lateness say says said".split(
    " ",
  ),
);
const DECLARED =
  /\b(?:function\*?|const|let|class)\s+(\w+)|^ {2}(?:static |readonly |async |get )*(#?\w+)[(:<]/gm;
const isOurs = (name: string) =>
  /^#?let(s)?Go/.test(name) || name.split(/(?=[A-Z])|[#_]/).some((part) => NEVER.has(part.toLowerCase()));

test("no name within a module that ships is one of ours alone", async () => {
  assert.deepEqual(["#tell", "letGo", "say_it", "personal", "#report"].filter(isOurs), [
    "#tell",
    "letGo",
    "say_it",
  ]);
  const wrong: string[] = [];
  for (const name of await readdir(PACKAGES)) {
    for (const path of await readdir(join(PACKAGES, name, "src"), { recursive: true })) {
      if (!path.endsWith(".ts") || path.endsWith(".test.ts") || /\b(gen|testing)\//.test(path)) continue;
      const text = await readFile(join(PACKAGES, name, "src", path), "utf8");
      for (const [, declared, member] of text.matchAll(DECLARED)) {
        const found = declared ?? member ?? "";
        if (isOurs(found)) wrong.push(`${name}/src/${path}: ${found}`);
      }
    }
  }
  assert.deepEqual(wrong, []);
});

/** Tests and scripts as well; what somebody says is plain English there. */
const NEVER_IN_TESTS = new Set([...NEVER].filter((word) => !word.startsWith("sa")));

test("no name within a test or a script is one of ours alone", async () => {
  const wrong: string[] = [];
  for (const page of await pages()) {
    const isTest = /^(test|scripts|examples)\/|\.test\.ts$|\/testing\//.test(page);
    if (!isTest || !/\.(ts|[cm]js)$/.test(page)) continue;
    const text = await readFile(join(ROOT, page), "utf8");
    for (const [, declared, member] of text.matchAll(DECLARED)) {
      const found = declared ?? member ?? "";
      const parts = found.split(/(?=[A-Z])|[#_]/).map((part) => part.toLowerCase());
      if (parts.some((part) => NEVER_IN_TESTS.has(part))) wrong.push(`${page}: ${found}`);
    }
  }
  assert.deepEqual(wrong, []);
});

/** What comments, messages and pages do not have either: the word, and the term to take. */
const PROSE: readonly (readonly [RegExp, string])[] = [
  [/\b(?:person|people|strangers?)\b/i, "operator, user, untrusted client"],
  [/\banswer(?:s|ed|ing)?\b/i, "response, result; to respond, to return"],
  [/\bquestions?\b/i, "request"],
  [/\bgaps?\b/i, "failpoint, interval, hole"],
  [/\b(?:verdict|judged?|judges|breather|lateness|settleHolds)\b/i, "result; to evaluate"],
  [/\b(?:mends?|mended|ghosts?)\b/i, "repair; orphaned"],
  [/\blets? go\b(?! =)/i, "release, close, detach"],
  [/\b(?:out of|in) sight\b/i, "visible"],
  // What two things are told apart by, or one from the other, is plain English.
  [/\b(?:told|tells?|telling)\b(?! apart| from|.* (?:apart|from)\b|er\b)/i, "report, notify, configure"],
  [
    /\blook(?:s|ed|ing)? (?:at|what)\b|\b(?:a|each|every|one|last|next) look\b|\b(?:two|the) looks\b/i,
    "read, check, compare",
  ],
  // Power, networks and nodes that are cut off are plain English.
  [
    /\b(?:snapshots?|images?|copies|members?) (?:is|are|was|were) cut\b(?! off)|\b(?:lost,? or cut|or cut image)\b/i,
    "copied, truncated",
  ],
  [
    /\b(?:guard-[a-z]+-|open-record|close-record|other-nodes|not-mounted|not-served|early copy)/,
    "the glossary's",
  ],
];

/** Where such a word stays, as a part of its line, and why. */
const PROSE_EXCEPTIONS: Readonly<Record<string, string>> = {
  "the question mark": "the character",
  "Tell the whole crash runs of the driver": "the subject of a commit",
  "`Answer`": "the name that a type had",
  "`ANSWER`": "the same",
  '"does not answer"': "what a message was",
  "who-is-let-in-no-more-is-not-served-on": "the name of a file",
  "name: ghost": "a user in what a real API server was asked",
  "ghost\tget\tpods": "the same user",
};

/** Pages of other kinds: made from results, or of requirements that others have worded; the words are here. */
const NOT_PROSE =
  /(^|\/)(gen|node_modules|dist)\/|docs\/(conformance|requirements)|test\/structure\/words\.test\.ts$/;
const PROSE_FILES = /\.(ts|[cm]js|md|yaml|tpl|go|sh)$|^test\/.*\.tsv$|values\.schema\.json$/;
async function pages(): Promise<string[]> {
  const found = ["CHANGELOG.md", "CONTRIBUTING.md", "README.md", "RELEASING.md", "SECURITY.md"];
  for (const folder of ["packages", "docs", "deploy", "scripts", "test", "examples"]) {
    for (const path of await readdir(join(ROOT, folder), { recursive: true })) {
      const page = `${folder}/${path}`;
      if (!NOT_PROSE.test(page) && PROSE_FILES.test(page)) found.push(page);
    }
  }
  return found;
}

test("comments, messages, titles of tests and pages have the field's terms", async () => {
  const refused = (line: string) => PROSE.find(([word]) => word.test(line))?.[1];
  assert.ok(refused("// The agent is told when it lets go."));
  assert.equal(refused("// Two that cannot be told apart, and what tells one from the other."), undefined);
  const wrong: string[] = [];
  const unused = new Set(Object.keys(PROSE_EXCEPTIONS));
  for (const page of await pages()) {
    const text = await readFile(new URL(`../../${page}`, import.meta.url), "utf8");
    for (const [at, line] of text.split("\n").entries()) {
      const stays = Object.keys(PROSE_EXCEPTIONS).filter((each) => line.includes(each));
      const rest = stays.reduce((left, each) => left.replaceAll(each, ""), line);
      const term = refused(rest);
      for (const each of stays) unused.delete(each);
      if (term !== undefined) wrong.push(`${page}:${at + 1}: ${line.trim()}; the term is ${term}`);
    }
  }
  assert.deepEqual(wrong, []);
  assert.deepEqual([...unused], [], "exceptions that nothing needs");
});

test("what operators read names them: no person in definitions", async () => {
  const folder = fileURLToPath(new URL("../../deploy/crds", import.meta.url));
  for (const file of await readdir(folder)) {
    assert.doesNotMatch(await readFile(join(folder, file), "utf8"), /\b(person|people)\b/i, file);
  }
});

/** Kubernetes' own, though they have one of these words. */
const OF_KUBERNETES = new Set(["DeploymentPaused"]);

test("what objects of ours are called stays only where the glossary has it", async () => {
  const glossary = await readFile(join(ROOT, "docs/glossary.md"), "utf8");
  const older = glossary.slice(glossary.indexOf("## Names in objects"));
  const names = new Set<string>();
  for (const name of await readdir(PACKAGES)) {
    for (const path of await readdir(join(PACKAGES, name, "src"), { recursive: true })) {
      if (!path.endsWith(".ts") || path.endsWith(".test.ts") || /\b(gen|testing)\//.test(path)) continue;
      const text = await readFile(join(PACKAGES, name, "src", path), "utf8");
      for (const [, literal = ""] of text.matchAll(/"((?:[A-Z][a-z]+)+)"/g)) names.add(literal);
    }
  }
  for (const file of await readdir(join(ROOT, "deploy/crds"))) {
    if (!file.startsWith("storage.mooring.dev_")) continue;
    const text = await readFile(join(ROOT, "deploy/crds", file), "utf8");
    // Fields, and the values that they may have.
    for (const [, field, value] of text.matchAll(/^\s*(?:(\w+):|- ([\w-]+))/gm))
      names.add(field ?? value ?? "");
  }
  const wrong = [...names].filter(
    (name) =>
      termsFor(name).length > 0 && !OF_KUBERNETES.has(name) && !new RegExp(`\\b${name}\\b`).test(older),
  );
  assert.ok(names.has("WritersHeld") && names.has("heldThroughCut"));
  assert.deepEqual(wrong, []);
});
