import { clusterSection } from "./conformance-cluster.mjs";

/** Of several tests of one requirement the worst counts; one that was skipped leaves it to the others. */
function stateOf(tests) {
  const has = (outcome) => tests.some((test) => test.outcome === outcome);
  if (has("failed")) return "failed";
  return has("passed") ? "proved" : "skipped";
}

/** By requirement: `state`, and the `tests` that made it so. */
export function proofsOf({ proofs }) {
  const byId = new Map();
  for (const proof of proofs) for (const id of proof.ids) byId.set(id, [...(byId.get(id) ?? []), proof]);
  const decided = [...byId].map(([id, tests]) => {
    const state = stateOf(tests);
    const wanted = { failed: "failed", proved: "passed", skipped: undefined }[state];
    return [id, { state, tests: tests.filter(({ outcome }) => wanted === undefined || outcome === wanted) }];
  });
  return new Map(decided);
}

/** Those of the steps of `npm run test:kubernetes`, as the other tests have theirs. */
export function proofsOnKubernetes({ steps }) {
  return Object.entries(steps).flatMap(([step, { proofs }]) =>
    proofs.map((proof) => ({ ...proof, file: `npm run test:kubernetes -- --only ${step}` })),
  );
}

const cell = (text) => text.replaceAll("|", "\\|");
const isRule = ({ level }) => level !== "NOTE";

/** What was run, by the part of the tests that was recorded. */
const RUNS = {
  everyday: "npm test -- --record",
  all: "npm run test:all",
  deep: "npm run test:deep -- --record",
};

const where = ({ at, commit, clean }) =>
  `${at.slice(0, 16).replace("T", " ")} UTC, at commit ${commit.slice(0, 12)}${clean ? "" : " with changes that were not committed"}`;

/** Not every step counts, and none did so at first. */
const counted = ({ counts }) =>
  counts === undefined
    ? ""
    : ` (${counts.passed} specs passed, ${counts.failed} failed, ${counts.skipped} were left out)`;

function intro({ part, node, passed, failed, skipped, failedFiles, ...run }, { version, steps }) {
  const lines = [
    "# Conformance",
    "",
    `Made by \`npm run conformance\` from what the tests have shown in the last recorded run, \`${RUNS[part]}\`, as`,
    `[conformance-results.json](conformance-results.json) has it: **${where(run)}**,`,
    `Node.js ${node}: ${passed} tests passed, ${failed} failed, ${skipped} were skipped. The rows are those of`,
    "[requirements.tsv](requirements.tsv).",
    "",
    `What needs Kubernetes itself was shown on version ${version} by \`npm run test:kubernetes -- --record\``,
    "([conformance-kubernetes.json](conformance-kubernetes.json)):",
    Object.entries(steps)
      .map(([name, step]) => `\`${name}\` ${where(step)}${counted(step)}${step.passed ? "" : " (it failed)"}`)
      .join("; ")
      .concat("."),
    "",
    "A row is proved when a test that names it has passed, and none that names it has failed. **Failed** and **skipped** rows",
    "have a test that did not show it in that run; **open** rows have none. Where something else than missing work is the reason,",
    "the row says it, from [conformance-open.tsv](conformance-open.tsv); an open row without a reason is not built, or not shown by",
    "a test. Rows of level NOTE explain and need none. Rows whose actor is `CO`, or an operator or a deployment, bind others than",
    "the driver: of orchestrators in general no test of ours can show it, in standalone mode Mooring is one.",
  ];
  if (failedFiles.length > 0)
    lines.push("", `Files with failures: ${failedFiles.map((name) => `\`${name}\``).join(", ")}.`);
  return lines;
}

function summary(groups, proofs) {
  const lines = [
    ...["", "| document | requirements | proved | failed or skipped | open |"],
    "| --- | ---: | ---: | ---: | ---: |",
  ];
  for (const [name, all] of groups) {
    const rules = all.filter(isRule);
    const states = rules.map(({ id }) => proofs.get(id)?.state);
    const count = (...wanted) => states.filter((state) => wanted.includes(state)).length;
    const counts = [rules.length, count("proved"), count("failed", "skipped"), count(undefined)];
    lines.push(`| ${name} | ${counts.join(" | ")} |`);
  }
  return lines;
}

function proofCell(proof, reason) {
  if (proof === undefined) return reason === undefined ? "**open**" : `**open**: ${cell(reason)}`;
  const tests = new Set(proof.tests.map(({ title, file }) => `${cell(title)} (\`${file}\`)`));
  const titles = [...tests].join("<br>");
  return proof.state === "proved" ? titles : `**${proof.state}**: ${titles}`;
}

/** The page: what was run, a summary, and a table of every document. */
export function render({ rows, proofs, why, results, kubernetes, cluster }) {
  const groups = new Map();
  for (const row of rows) groups.set(row.document, [...(groups.get(row.document) ?? []), row]);
  const out = [...intro(results, kubernetes), ...summary(groups, proofs)];
  out.push("", ...clusterSection(cluster, { rows, proofs }));
  for (const [name, all] of groups) {
    const head = ["| id | level | actor | requirement | proof |", "| --- | --- | --- | --- | --- |"];
    out.push("", `## ${name}`, "", ...head);
    for (const { id, level, actor, requirement } of all.filter(isRule)) {
      const proof = proofCell(proofs.get(id), why.get(id));
      out.push(`| ${id} | ${level} | ${cell(actor)} | ${cell(requirement)} | ${proof} |`);
    }
  }
  return `${out.join("\n")}\n`;
}
