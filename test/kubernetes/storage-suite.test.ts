// What `npm run test:kubernetes -- --only storage-suite` makes of the report that Kubernetes' storage tests write.
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { render } from "../../scripts/lib/conformance-page.mjs";
import { ROOT } from "../../scripts/lib/setup.mjs";
import { ON_KUBERNETES } from "../../scripts/lib/tests/record.mjs";
import { ALWAYS, LEAST_PASSED, LEAVE_THEMSELVES_OUT, WANTS_POPULATOR } from "./real/suite/left-out.mjs";
import { countsOf, problemsOf, readReport, together } from "./real/suite/report.mjs";
import { format, shown } from "./real/support/record.mjs";

const DRIVER = "External Storage [Driver: csi.mooring.dev]";
const REASONS = {
  left: [["\\[Feature:Windows\\]", "no Windows"]],
  themselves: [["doesn't support \\w+ -- skipping$", "the driver has none"]],
};

/** As Ginkgo has a spec in its JSON report, with what else is read of it. */
function spec(State: string, text: string, Message?: string) {
  const its = { LeafNodeType: "It", LeafNodeText: text, State, NumAttempts: State === "skipped" ? 0 : 1 };
  const names = { ContainerHierarchyTexts: [DRIVER, "[Testpattern: Dynamic PV (default fs)] volumes"] };
  return { ...names, ...its, ...(Message === undefined ? {} : { Failure: { Message } }) };
}
const nameOf = (text: string) => `${DRIVER} [Testpattern: Dynamic PV (default fs)] volumes ${text}`;

const PASSED = spec("passed", "should store data");
const WINDOWS = spec("skipped", "should run on [Feature:Windows]");
const NONE = spec(
  "skipped",
  "should be inline",
  "Driver csi.mooring.dev doesn't support CSIInlineVolume -- skipping",
);
const SILENT = spec("skipped", "should be silent");
const STRANGE = spec("skipped", "should say something", "Driver csi.mooring.dev has no such thing");
const FAILED = spec("failed", "should fail", "timed out");

async function read(t: TestContext, specs: object[], { focus = "", reasons = REASONS } = {}) {
  const folder = await mkdtemp(join(tmpdir(), "mooring-report-"));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, "report.json");
  const others = [
    { LeafNodeType: "BeforeSuite", LeafNodeText: "", State: "passed" },
    { ...spec("skipped", "of another driver"), ContainerHierarchyTexts: ["In-tree Volumes"] },
  ];
  await writeFile(file, JSON.stringify([{ SuiteSucceeded: true, SpecReports: [...others, ...specs] }]));
  return readReport(file, reasons, focus);
}

test("every spec of the driver has passed, has failed, or is left out for a reason", async (t) => {
  const results = await read(t, [PASSED, WINDOWS, NONE]);
  assert.deepEqual(problemsOf(results, 1), []);
  assert.deepEqual(countsOf(results), {
    ...{ passed: 1, failed: 0, skipped: 2, unexplained: 0 },
    reasons: { "no Windows": 1, "the driver has none": 1 },
  });
});

test("a spec that is left out without a word, or with words that are not known, is a problem with its name", async (t) => {
  const results = await read(t, [PASSED, SILENT, STRANGE]);
  assert.deepEqual(problemsOf(results, 1), [
    `left out for no reason that is known: ${nameOf("should be silent")}`,
    `left out for no reason that is known: ${nameOf("should say something")}: Driver csi.mooring.dev has no such thing`,
  ]);
});

test("a spec that failed is a problem, and so is a run of which too few have passed", async (t) => {
  assert.deepEqual(problemsOf(await read(t, [PASSED, FAILED]), 1), [`failed: ${nameOf("should fail")}`]);
  assert.deepEqual(problemsOf(await read(t, [PASSED, NONE]), 2), [
    "1 specs passed, where 2 have passed before",
  ]);
  assert.deepEqual(problemsOf(await read(t, [NONE, WINDOWS]), 1), [
    "0 specs passed, where 1 have passed before",
  ]);
});

test("a spec that only a second run takes needs no reason in the first one", async (t) => {
  const first = await read(t, [PASSED, SILENT]);
  const second = await read(t, [spec("skipped", "should store data"), spec("passed", "should be silent")], {
    focus: "be silent",
  });
  assert.deepEqual(problemsOf(together(first, second), 2), []);
  const neither = together(first, await read(t, [PASSED, SILENT], { focus: "be silent" }));
  assert.equal(problemsOf(neither, 1).length, 1);
});

test("counts of a step are recorded with its proofs, and a record without counts stays as it was", () => {
  const proof = { title: "their results", ids: ["CSI-005"], outcome: "passed" };
  const counts = { passed: 1, failed: 0, skipped: 2, unexplained: 0, reasons: { "no Windows": 2 } };
  const lines = [{ counts }, proof].map((line) => `${JSON.stringify(line)}\n`).join("");
  assert.deepEqual(shown(lines), { counts, proofs: [proof] });
  const steps = { first: { passed: true, ...shown(lines) }, second: { passed: true, proofs: [proof] } };
  assert.deepEqual(JSON.parse(format(steps)).steps, steps);
});

/** Rows of the page's table below the heading, as counts by reason. */
async function rowsOfPage(): Promise<Map<string, number>> {
  const page = await readFile(join(ROOT, "docs/reference/kubernetes.md"), "utf8");
  const [, after = ""] = page.split("\n### Kubernetes' own storage tests\n");
  const [section = ""] = after.split("\n### ");
  const rows = [...section.matchAll(/^\| (\d+) \| (.+) \|$/gm)];
  return new Map(rows.map(([, count, what = ""]) => [what, Number(count)]));
}

test("the page has every reason for which specs are left out, with the counts of the last recorded run", async () => {
  const [[what, passed] = ["", 0], ...left] = [...(await rowsOfPage())];
  assert.match(what, /^passed: /);
  const known = new Set([...ALWAYS, ...LEAVE_THEMSELVES_OUT].map(([, reason = ""]) => reason));
  const named = left.map(([reason]) => reason).filter((reason) => reason !== WANTS_POPULATOR[1]);
  assert.deepEqual(named.sort(), [...known].sort());
  const { steps } = JSON.parse(await readFile(ON_KUBERNETES, "utf8"));
  // Recorded before steps were counted: of all there were so many.
  const { counts = { passed: LEAST_PASSED, reasons: Object.fromEntries(left) } } = steps["storage-suite"];
  assert.deepEqual(
    { passed, reasons: Object.fromEntries(left) },
    { passed: counts.passed, reasons: counts.reasons },
  );
});

test("the page of requirements has the counts of a step, and nothing of one that has none", () => {
  const run = {
    at: "2026-11-29T02:32:42.748Z",
    commit: "9b7b8369a048825afb5f5d03b97d7724faf82e1b",
    clean: true,
    passed: true,
    proofs: [],
  };
  const counts = { passed: 115, failed: 0, skipped: 201 };
  const steps = { cluster: run, "storage-suite": { ...run, counts } };
  const results = { ...run, part: "all", node: "v20", failed: 0, skipped: 0, failedFiles: [] };
  const nothing = { rows: [], proofs: new Map(), why: new Map(), cluster: [] };
  const page = render({ ...nothing, results, kubernetes: { version: "1.35.4", steps } });
  const at = "2026-11-29 02:32 UTC, at commit 9b7b8369a048";
  assert.ok(
    page.includes(
      `\`cluster\` ${at}; \`storage-suite\` ${at} (115 specs passed, 0 failed, 201 were left out).`,
    ),
    page,
  );
});

/** What specs of Kubernetes 1.35.4 say, with deploy/e2e-driver.yaml on two nodes. */
const SAID = [
  "Block volumes do not support mount options - skipping",
  'Driver "csi.mooring.dev" does not support ROX access mode - skipping',
  'Driver "csi.mooring.dev" does not support SELinuxMount - skipping',
  'Driver "csi.mooring.dev" does not support snapshots - skipping',
  'Driver "csi.mooring.dev" does not support volume type "CSIInlineVolume" - skipping',
  'Driver "csi.mooring.dev" does not support volume type "InlineVolume" - skipping',
  'Driver "csi.mooring.dev" does not support volume type "PreprovisionedPV" - skipping',
  "Driver csi.mooring.dev does not support volume limits",
  "Driver csi.mooring.dev doesn't specify performance test options -- skipping",
  "Driver csi.mooring.dev doesn't support RWX -- skipping",
  "Driver csi.mooring.dev doesn't support ext3 -- skipping",
  "Filesystem volume case should be covered by block volume case -- skipping",
  "Multiple generic ephemeral volumes with immediate binding may cause pod startup failures when the volumes get created in separate topology segments.",
  "No SSH Key for provider skeleton: 'error reading SSH key /home/me/.ssh/id_rsa: open /home/me/.ssh/id_rsa: no such file or directory'",
  "No topology with at least 2 nodes found - skipping",
  'Suite "volumeLimits" does not support GenericEphemeralVolume',
  "Test for Block volumes is not implemented - skipping",
  "Test is not valid for Block volume mode - skipping",
  "VolumeBindingMode immediate is not compatible with a multi-topology environment.",
  "raw block volumes cannot be read-only",
  "skipping multiple PV mount test for block mode",
  'volume type "DynamicPV" is not ephemeral',
  'volume type "GenericEphemeralVolume" is ephemeral',
];

test("what specs say when they leave themselves out is known, and nothing is listed that none says", async (t) => {
  const specs = SAID.map((message, at) => spec("skipped", `should ${at}`, message));
  const reasons = { left: ALWAYS, themselves: LEAVE_THEMSELVES_OUT };
  const results = await read(t, specs, { reasons });
  assert.deepEqual([...results.unexplained.values()], []);
  const unused = LEAVE_THEMSELVES_OUT.filter(
    ([pattern = ""]) => !SAID.some((text) => new RegExp(pattern).test(text)),
  );
  assert.deepEqual(unused, []);
});
