#!/usr/bin/env node
// Writes docs/conformance.md: which requirement is proved by which test. A test proves a row by naming its id in
// brackets in its title. Makes docs/reference/attachment-states.md as well. `--check` only tells whether the page is up to date.
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { run } from "./lib/run.mjs";
import { ROOT } from "./lib/setup.mjs";

const PAGE = join(ROOT, "docs/conformance.md");
const SKIP = new Set(["node_modules", "dist", "gen", ".cache", ".git"]);
const TITLE = /\b(?:test|it|describe)\(\s*(["'`])((?:\\.|(?!\1)[\s\S])*?)\1/g;
const ID = /\[((?:CSI|GRP|K8S|KEP|LHA)-\d+)\]/g;

async function testFiles(folder) {
  const found = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && !SKIP.has(entry.name)) found.push(...(await testFiles(path)));
    else if (/\.test\.(ts|mjs)$/.test(entry.name)) found.push(path);
  }
  return found.sort();
}

async function proofs() {
  const byId = new Map();
  for (const folder of ["packages", "test", "examples"]) {
    const files = await testFiles(join(ROOT, folder)).catch(() => []);
    for (const file of files) {
      for (const [, , title] of (await readFile(file, "utf8")).matchAll(TITLE)) {
        for (const [, id] of title.matchAll(ID)) {
          const entry = {
            file: relative(ROOT, file),
            title: title.replaceAll(/\[[A-Z0-9-]+\]\s*/g, "").trim(),
          };
          byId.set(id, [...(byId.get(id) ?? []), entry]);
        }
      }
    }
  }
  return byId;
}

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

const cell = (text) => text.replaceAll("|", "\\|");

function render(rows, byId, why) {
  const known = new Set(rows.map((row) => row.id));
  const unknown = [...byId.keys()].filter((id) => !known.has(id));
  if (unknown.length > 0) throw new Error(`tests name requirements that do not exist: ${unknown.join(", ")}`);
  const stale = [...why.keys()].filter((id) => !known.has(id) || byId.has(id));
  if (stale.length > 0)
    throw new Error(`docs/conformance-open.tsv names rows that are proved or unknown: ${stale.join(", ")}`);
  const groups = new Map();
  for (const row of rows) groups.set(row.document, [...(groups.get(row.document) ?? []), row]);
  const out = [
    "# Conformance",
    "",
    "Made by `npm run conformance` from the titles of the tests; the rows are those of [requirements.tsv](requirements.tsv).",
    "**Open** rows have no test. Where something else than missing work is the reason, the row says it, from",
    "[conformance-open.tsv](conformance-open.tsv); an open row without a reason is not built, or not shown by a test. Rows of",
    "level NOTE explain and need none. Rows whose actor is `CO`, or an operator or a deployment, bind others than the driver:",
    "of orchestrators in general no test of ours can tell, in standalone mode Mooring is one.",
    "",
    "| document | requirements | proved | open |",
    "| --- | ---: | ---: | ---: |",
  ];
  const binding = (row) => row.level !== "NOTE";
  for (const [name, all] of groups) {
    const rules = all.filter(binding);
    const proved = rules.filter((row) => byId.has(row.id)).length;
    out.push(`| ${name} | ${rules.length} | ${proved} | ${rules.length - proved} |`);
  }
  for (const [name, all] of groups) {
    out.push(
      "",
      `## ${name}`,
      "",
      "| id | level | actor | requirement | proof |",
      "| --- | --- | --- | --- | --- |",
    );
    for (const row of all.filter(binding)) {
      const tests = byId.get(row.id) ?? [];
      const proof =
        tests.length === 0
          ? open(why.get(row.id))
          : tests.map((t) => `[${cell(t.title)}](../${t.file})`).join("<br>");
      out.push(`| ${row.id} | ${row.level} | ${cell(row.actor)} | ${cell(row.requirement)} | ${proof} |`);
    }
  }
  return `${out.join("\n")}\n`;
}

const open = (reason) => (reason === undefined ? "**open**" : `**open**: ${cell(reason)}`);

const pages = await run(process.execPath, [
  join(ROOT, "scripts/attachment-states.mjs"),
  ...process.argv.slice(2),
]);
if (pages !== 0) process.exit(pages);
const page = render(await requirements(), await proofs(), await reasons());
if (process.argv.includes("--check")) {
  if ((await readFile(PAGE, "utf8").catch(() => "")) !== page) {
    process.stderr.write("docs/conformance.md is out of date. Next: npm run conformance\n");
    process.exit(1);
  }
} else {
  await writeFile(PAGE, page);
}
const proved = page
  .split("\n")
  .filter((line) => /^\| (CSI|GRP|K8S|KEP|LHA)-/.test(line) && !line.includes("| **open**")).length;
process.stdout.write(`${proved} requirements proved\n`);
