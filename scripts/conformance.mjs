#!/usr/bin/env node
// Writes docs/conformance.md: which requirement was proved by which test in the last recorded run (`npm run test:all`, which
// leaves docs/conformance-results.json) and on a real Kubernetes (docs/conformance-kubernetes.json). Makes
// docs/reference/attachment-states.md as well. `--check` only reports whether the pages fit, and whether a test names a
// requirement that does not exist.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { flawsOf, readCluster } from "./lib/conformance-cluster.mjs";
import { proofsOf, proofsOnKubernetes, render } from "./lib/conformance-page.mjs";
import { run } from "./lib/run.mjs";
import { say, stop } from "./lib/say.mjs";
import { ROOT } from "./lib/setup.mjs";
import { claims } from "./lib/tests/claims.mjs";
import { ON_KUBERNETES, RESULTS } from "./lib/tests/record.mjs";

const PAGE = join(ROOT, "docs/conformance.md");

async function requirements() {
  const [, ...lines] = (await readFile(join(ROOT, "docs/requirements.tsv"), "utf8")).trimEnd().split("\n");
  return lines.map((line) => {
    const [id, document, section, actor, level, requirement] = line.split("\t");
    return { id, document, section, actor, level, requirement };
  });
}

/** Rows that no test can prove, each with its reason: `id<TAB>reason`. */
async function reasons() {
  const text = await readFile(join(ROOT, "docs/conformance-open.tsv"), "utf8").catch(() => "");
  const lines = text.split("\n").filter((line) => line !== "");
  return new Map(lines.map((line) => line.split("\t")));
}

const pages = await run(process.execPath, [
  join(ROOT, "scripts/attachment-states.mjs"),
  ...process.argv.slice(2),
]);
if (pages !== 0) process.exit(pages);
const text = await readFile(RESULTS, "utf8").catch(() =>
  stop("docs/conformance-results.json is missing.", "npm run test:all"),
);
const results = JSON.parse(text);
const kubernetes = JSON.parse(await readFile(ON_KUBERNETES, "utf8"));
results.proofs.push(...proofsOnKubernetes(kubernetes));
const [rows, why] = [await requirements(), await reasons()];
const proofs = proofsOf(results);
const known = new Set(rows.map(({ id }) => id));
const { claimed, titled } = await claims();
if (titled.length > 0)
  stop(
    `Titles do not say what a test proves: ${titled.map(({ title, file }) => `${title} (${file})`).join(", ")}.`,
    'covers("ID", ...) at the beginning of the test',
  );
const named = [...claimed, ...results.proofs.flatMap(({ ids, file }) => ids.map((id) => ({ id, file })))];
const unknown = new Set(named.filter(({ id }) => !known.has(id)).map(({ id, file }) => `${id} (${file})`));
if (unknown.size > 0) stop(`Tests name requirements that do not exist: ${[...unknown].join(", ")}.`);
const stale = [...why.keys()].filter((id) => !known.has(id) || proofs.get(id)?.state === "proved");
if (stale.length > 0)
  stop(`docs/conformance-open.tsv names rows that are proved or unknown: ${stale.join(", ")}.`);

const cluster = await readCluster();
const flaws = flawsOf(cluster, { rows, named: new Set(named.map(({ id }) => id)) });
if (flaws.length > 0)
  stop(
    `docs/conformance-cluster.tsv does not fit: ${flaws.join(", ")}.`,
    "say who keeps the row in a cluster",
  );

const page = render({ rows, proofs, why, results, kubernetes, cluster });
if (!process.argv.includes("--check")) await writeFile(PAGE, page);
else if ((await readFile(PAGE, "utf8").catch(() => "")) !== page)
  stop("docs/conformance.md does not fit docs/conformance-results.json.", "npm run conformance");
const count = (state) => [...proofs.values()].filter((proof) => proof.state === state).length;
say(`${count("proved")} requirements proved, ${count("failed")} failed, ${count("skipped")} skipped`);
