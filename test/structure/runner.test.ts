import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { thorough } from "@mooring/store/testing";
import { ROOT } from "../../scripts/lib/setup.mjs";
import { withAnother } from "../../scripts/lib/tests/again.mjs";
import { RBD_SHORT } from "../../scripts/lib/tests/rbd-short.mjs";
import { runFiles } from "../../scripts/lib/tests/run-file.mjs";
import { schedule } from "../../scripts/lib/tests/schedule.mjs";
import { filesOfDay, isDue, withoutOtherSteps } from "../../scripts/lib/tests/select.mjs";
import { KEPT } from "../../scripts/lib/tests/times.mjs";
import { inTurn, turnOf } from "../../scripts/lib/tests/turns.mjs";

const UNTRACKED = fileURLToPath(new URL("../../scripts/lib/tests/untracked.cjs", import.meta.url));

/** Runs a file of tests as the runner does. */
async function run(body: string): Promise<{ code: number | null; output: string }> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-runner-"));
  try {
    const file = join(folder, "a.test.mjs");
    await writeFile(file, `import { after, describe, test } from "node:test";\n${body}`);
    // Inside of a test it would report to that one, and not end with a code of its own.
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const args = [`--require=${UNTRACKED}`, "--test-reporter=spec", file];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { env, encoding: "utf8" });
    return { code: status, output: stdout + stderr };
  } finally {
    await rm(folder, { recursive: true });
  }
}

const PASSES = 'test("passes", async () => { await new Promise((resolve) => setTimeout(resolve, 100)); });';

test("an error that nobody has caught fails its file, wherever it came from", async () => {
  assert.equal((await run(PASSES)).code, 0);
  for (const late of [
    'setTimeout(() => { throw new Error("late"); }, 10);',
    'void Promise.reject(new Error("late"));',
  ]) {
    const { code, output } = await run(`test("leaves", () => { ${late} });\n${PASSES}`);
    assert.notEqual(code, 0, output);
    assert.match(output, /late/);
  }
});

test("tests are in their suite, and what comes after a suite comes", async () => {
  const { code, output } = await run(
    `describe("suite", () => { after(() => console.log("put away")); ${PASSES} });`,
  );
  assert.equal(code, 0, output);
  assert.match(output, /▶ suite\n {2}✔ passes/);
  assert.match(output, /^put away$/m);
});

/** Of what `runFiles` returns for each file. */
interface Result {
  name: string;
  code: number;
  tests: { path: string[]; outcome: string; ids: string[] }[];
  /** The tests that were running when nothing had begun or ended for too long. */
  hung?: string[];
}

/** What is shown of files that share a process, by the name of each. */
async function shown(bodies: Record<string, string>, limitMs = 60_000): Promise<Record<string, string>> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-runner-"));
  try {
    const files = Object.keys(bodies).map((name) => ({ name, program: join(folder, `${name}.mjs`) }));
    for (const { name, program } of files) {
      const body = `import { after, describe, test } from "node:test";\n${bodies[name]}`;
      await writeFile(program, body);
    }
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const given = { files, env, folder: join(folder, "work"), apart: false, flags: [], live: false };
    const results: Result[] = await runFiles({
      ...{ ...given, limitMs, signal: new AbortController().signal },
    });
    return Object.fromEntries(
      results.map(({ name, code, tests, hung }) => {
        const titles = tests.map(({ path, outcome, ids }) => `${path.join(" > ")} ${outcome} ${ids}`.trim());
        if (hung !== undefined) titles.push(`hung in ${hung}`);
        return [name, `${code === 0 ? "good" : "bad"}: ${titles.join(", ")}`];
      }),
    );
  } finally {
    await rm(folder, { recursive: true });
  }
}

test("files that share a process are told apart: their tests, what these cover, and whose the failure is", async () => {
  const says = (id: string) =>
    `appendFileSync(process.env.MOORING_COVERS, JSON.stringify({ path: ["same"], ids: ["${id}"] }) + "\\n");`;
  const appending = 'import { appendFileSync } from "node:fs";\n';
  assert.deepEqual(
    await shown({
      one: `${appending}test("same", () => { ${says("A-1")} });`,
      two: `${appending}test("same", () => { ${says("A-2")} throw new Error("no"); });`,
      three: 'describe("suite", () => { test("inner", () => {}); });',
      four: 'throw new Error("cannot be loaded");',
      five: PASSES,
    }),
    {
      one: "good: same passed A-1",
      two: "bad: same failed A-2",
      three: "good: suite > inner passed, suite passed",
      four: "bad: is loaded failed",
      five: "good: passes passed",
    },
  );
});

test("what a file puts away after itself is put away then, what is for all files after the last, and an error fails the file", async () => {
  const ends = 'globalThis[Symbol.for("mooring.tests.ends")]';
  const isOpen = 'if (globalThis.shared !== "open") throw new Error("closed");';
  const closes =
    'globalThis.shared = "closed"; if (globalThis.first !== undefined) throw new Error("order");';
  const shows = await shown({
    one: `globalThis.shared = "open"; globalThis.first = 1;
      ${ends}.process.push(() => { ${closes} });
      ${ends}.file.push(() => { ${isOpen} globalThis.first = undefined; });
      test("uses it", () => { ${isOpen} });`,
    two: `${ends}.file.push(async () => { throw new Error("cannot be put away"); });
      test("uses it as well", () => { ${isOpen} });`,
    three: `test("is the last", () => { ${isOpen} if (globalThis.first !== undefined) throw new Error("kept"); });`,
  });
  assert.deepEqual(shows, {
    one: "good: uses it passed",
    two: "bad: uses it as well passed",
    three: "good: is the last passed",
  });
});

test("hooks of a whole file run before its first test and after its last one, also when a helper has them", async () => {
  const is = (wanted: string) =>
    `if (String(globalThis.did) !== "${wanted}") throw new Error(globalThis.did);`;
  const shows = await shown({
    one: `globalThis.did = []; const { before } = await import("node:test");
      const helper = async () => { after(() => globalThis.did.push("helper")); };
      before(() => globalThis.did.push("before"));
      after(() => globalThis.did.push("after"));
      describe("suite", () => { after(() => globalThis.did.push("suite")); test("inner", () => {}); });
      await helper();
      test("last", () => { ${is("before,suite")} });`,
    two: `test("comes after it", () => { ${is("before,suite,after,helper")} });
      after(() => { throw new Error("cannot be put away"); });`,
    three: `test("runs", () => {});`,
  });
  assert.deepEqual(shows, {
    one: "good: suite > inner passed, suite passed, last passed",
    two: "bad: comes after it passed",
    three: "good: runs passed",
  });
});

test("a file that ends the process of several fails, and so do those that did not run", async () => {
  const shows = await shown({ one: PASSES, two: "process.exit(0);", three: PASSES });
  assert.deepEqual(shows, { one: "good: passes passed", two: "bad: ", three: "bad: " });
});

test(
  "a process may take long as a whole; a test that does not end is named, and ends it",
  thorough(),
  async () => {
    const takes = (ms: number) =>
      `test("takes", () => new Promise((resolve) => setTimeout(resolve, ${ms})));`;
    // Longer together than the limit.
    const steady = Array.from({ length: 3 }, (_, at) => [`part ${at}`, takes(4000)]);
    const parts = Object.fromEntries(steady.map(([name]) => [name, "good: takes passed"]));
    assert.deepEqual(await shown(Object.fromEntries(steady), 10_000), parts);
    const waits = 'test("waits for ever", () => new Promise((resolve) => setTimeout(resolve, 2 ** 30)));';
    const shows = await shown({ one: PASSES, two: waits }, 10_000);
    assert.equal(shows.one, "good: passes passed");
    assert.match(shows.two ?? "", /^bad: .*hung in waits for ever/);
  },
);

test("an error that nobody has caught fails all files that share the process", async () => {
  const late = 'test("leaves", () => { setTimeout(() => { throw new Error("late"); }, 10); });';
  const shows = await shown({ one: late, two: PASSES });
  for (const [name, text] of Object.entries(shows)) assert.match(text, /^bad: /, `${name} ${text}`);
});

/** The names of what had begun when nothing more began, and of all in the order in which they began. */
async function begun(items: { name: string; cost: number; seconds: number }[], idle: number) {
  const all: string[] = [];
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let samples = 0;
  let atRest: string[] = [];
  const bounds = {
    ...{ capacity: 2, most: 4, sampleMs: 1 },
    idle: async () => {
      samples += 1;
      if (samples === 5) {
        atRest = [...all];
        release();
      }
      return idle;
    },
  };
  const work = async ({ name }: { name: string }) => {
    all.push(name);
    await released;
  };
  await schedule(items, bounds, work, new AbortController().signal);
  return { atRest, all };
}

test("files begin as long as their costs fit, and more while processors idle; what needs the machine comes alone, last", async () => {
  const item = (name: string, seconds: number, cost = 1) => ({ name, seconds, cost });
  const items = [
    ...[item("alone", 99, Number.POSITIVE_INFINITY), item("f", 1), item("e", 2), item("d", 3), item("c", 4)],
    ...[item("b", 5), item("a", 6)],
  ];
  const order = ["a", "b", "c", "d", "e", "f", "alone"];
  assert.deepEqual(await begun(items, 0), { atRest: ["a", "b"], all: order });
  assert.deepEqual(await begun(items, 0.5), { atRest: ["a", "b", "c", "d"], all: order });
});

test("what may be spared comes after the others, whatever its length, and is left out when the time is over", async () => {
  const item = (name: string, seconds: number, spare: boolean) => ({ name, seconds, spare, cost: 1 });
  const items = [item("late", 9, true), item("later", 8, true), item("b", 1, false), item("a", 2, false)];
  for (const begun of [4, 3, 1]) {
    const all: string[] = [];
    const work = async ({ name }: { name: string }) => void all.push(name);
    const bounds = { capacity: 1, hasTime: () => all.length < begun };
    await schedule(items, bounds, work, new AbortController().signal);
    assert.deepEqual(all, ["a", "b", "late", "later"].slice(0, Math.max(begun, 2)));
  }
});

test("the times by which a new clone begins its longest files first are of files that are there", async () => {
  const names = Object.keys(JSON.parse(await readFile(KEPT, "utf8")));
  const root = fileURLToPath(new URL("../../", import.meta.url));
  assert.deepEqual(
    names.filter((name) => !existsSync(join(root, name))),
    [],
  );
});

test("a long proof of the rest has its day, every one within as many days as there are turns", () => {
  assert.ok(inTurn.length > 0);
  for (const path of inTurn) {
    assert.ok(existsSync(join(ROOT, path)), `${path}, which has a turn, is not there`);
    const days = Array.from({ length: turnOf(path).turns }, (_, day) => day).filter((day) =>
      isDue(join(ROOT, path), { MOORING_SEED: String(day) }),
    );
    assert.equal(days.length, 1, path);
  }
  assert.ok(isDue(join(ROOT, "test/crash/crash.test.ts"), { MOORING_SEED: "1" }));
});

test("in turn, the files without a turn of their own run on one of two days each, and what is due today stays", () => {
  const [long = ""] = inTurn;
  const files = [long, "a.test.ts", "b.test.ts", "c.test.ts"].map((path) => join(ROOT, path));
  const [first = [], second = []] = [1, 2].map((day) => filesOfDay(files, { MOORING_SEED: String(day) }));
  assert.deepEqual([...new Set([...first, ...second])].sort(), [...files].sort());
  assert.deepEqual(
    first.filter((file: string) => second.includes(file)),
    [join(ROOT, long)],
  );
});

test("what another step of the gate has every day is there, has no turn, and is none of the rest", async () => {
  const gate = await readFile(join(ROOT, ".ci/run"), "utf8");
  assert.match(gate, /npm run test:rbd -- --short/);
  const files = RBD_SHORT.map((path: string) => join(ROOT, path));
  for (const file of files) assert.ok(existsSync(file), file);
  assert.deepEqual(
    RBD_SHORT.filter((path: string) => turnOf(path).turn !== undefined),
    [],
  );
  const other = join(ROOT, "test/rbd/fuzz.test.ts");
  assert.deepEqual(withoutOtherSteps([...files, other]), [other]);
});

/** Results of a first run, and the names of those that were run again; in the second one only `passes` pass. */
async function again(
  first: { name: string; code: number; hung?: string[]; output?: string }[],
  passes: string[],
) {
  const ran: string[] = [];
  const results: (Result & { before?: object })[] = await withAnother(
    first.map((result) => ({ output: "", tests: [], ...result })),
    async ({ name }: Result) => {
      ran.push(name);
      return { name, code: passes.includes(name) ? 0 : 1, output: "second", tests: [] };
    },
  );
  const ends = results.map(({ name, code, before }) => `${name} ${code}${before ? " only alone" : ""}`);
  return { ran, ends };
}

test("a file that failed beside others has a second run alone, and one that then passes is told apart", async () => {
  const first = ["a", "b", "c"].map((name) => ({ name, code: name === "b" ? 0 : 1 }));
  assert.deepEqual(await again(first, ["a", "b"]), {
    ran: ["a", "c"],
    ends: ["a 0 only alone", "b 0", "c 1"],
  });
});

test("nothing is run again where many failed, one hung, or one had cases made at random", async () => {
  const many = ["a", "b", "c", "d"].map((name) => ({ name, code: 1 }));
  const hung = [
    { name: "a", code: 1 },
    { name: "b", code: 1, hung: ["a test"] },
  ];
  const atRandom = [{ name: "a", code: 1, output: "Error: Property failed after 7 tests" }];
  for (const first of [many, hung, atRandom]) {
    const { ran, ends } = await again(first, ["a", "b", "c", "d"]);
    assert.deepEqual(ran, []);
    assert.ok(ends.every((end) => end.endsWith(" 1")));
  }
});
