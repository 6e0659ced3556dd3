/** What is shown of a run: a line for every file, everything that a file prints when it failed, and the failures again. */
const MARKS = { ok: "✔", failed: "✖" };
const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`.padStart(8);
const write = (text) => process.stdout.write(text);

const isGood = ({ code }) => code === 0;
const ran = (tests) => tests.filter(({ suite, outcome }) => !suite && outcome !== "skipped");

export function showFile(file, { done, of, show }) {
  const { name, output, tests, ms, cpuMs } = file;
  if (show || !isGood(file)) write(`\n${name}\n${output}\n`);
  const skipped = tests.filter(({ outcome }) => outcome === "skipped").length;
  const counts = `${ran(tests).length} tests${skipped > 0 ? `, ${skipped} skipped` : ""}`;
  const mark = isGood(file) ? MARKS.ok : MARKS.failed;
  write(
    `${mark} ${String(done).padStart(3)}/${of} ${seconds(ms)} ${seconds(cpuMs)} cpu  ${name} (${counts})\n`,
  );
  showTroubles(file);
}

function showTroubles({ hung, left }) {
  if (hung !== undefined)
    write(`    was still running when its time was over: ${hung.join("; ") || "no test"}\n`);
  for (const what of left) write(`    left behind: ${what}\n`);
}

export function showSummary(files, { of, seconds: total, live, spared }) {
  const bad = files.filter((file) => !isGood(file));
  const tests = files.flatMap((file) => ran(file.tests));
  const cpu = files.reduce((sum, { cpuMs }) => sum + cpuMs, 0) / 1000;
  if (live) for (const file of files) showTroubles(file);
  if (bad.length > 0) write(`\n${FAILED}\n`);
  for (const file of bad) showFailed(file, { live });
  const unsteady = files.filter(({ before }) => before !== undefined);
  if (unsteady.length > 0) write(`\n${UNSTEADY}\n`);
  for (const { before } of unsteady) showFailed(before, { live });
  if (spared.length > 0)
    write(`\nno time was left for what has its turn on another day:\n${lines(spared)}\n`);
  const counts = [`${files.length} of ${of} files`, `${tests.length} tests`, `${bad.length} files failed`];
  if (unsteady.length > 0) counts.push(`${unsteady.length} passed only alone`);
  const times = [`${total.toFixed(0)} s`, `${cpu.toFixed(0)} s of processor`];
  write(`\n${[...counts, ...times].join(", ")}\n`);
  if (bad.length > 0) write(`Next: npm run unit ${bad.map(({ name }) => name).join(" ")}\n`);
}

function showFailed(file, { live }) {
  write(`${MARKS.failed} ${file.name}\n`);
  const failed = file.tests.filter(({ outcome, suite }) => outcome === "failed" && !suite);
  for (const { path } of failed) write(`    ${path.join(" > ")}\n`);
  if (!live) write(`${indented(reasons(file.output))}\n`);
  showTroubles(file);
}

const UNSTEADY = "failed beside others and passed alone, which is a defect of the test or of what it tests:";
// A log of CI is read from its end.
const FAILED = "failing tests:";

function reasons(output) {
  const from = output.lastIndexOf(FAILED);
  return from < 0 ? output.slice(-4000) : output.slice(from + FAILED.length);
}

const lines = (names) => names.map((name) => `    ${name}`).join("\n");
const indented = (text) => text.trim().replaceAll(/^/gm, "    ");
