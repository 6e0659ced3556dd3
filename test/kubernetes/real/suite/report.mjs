// What came of Kubernetes' storage tests, from the report that they write.
import { readFile } from "node:fs/promises";

/** Why specs skip themselves, without what is different from one to the next. */
const general = (message) =>
  message
    .split("\n")[0]
    .replace(/^.*?(Driver|Suite|Cluster) "?[\w.-]+"? /, "$1 ")
    .replace(/ -- skipping$| - skipping$/, "")
    .trim();

const nameOf = ({ ContainerHierarchyTexts, LeafNodeText }) =>
  [...(ContainerHierarchyTexts ?? []), LeafNodeText].join(" ");

function reasonOf(spec, left) {
  const message = spec.Failure?.Message ?? "";
  if (message !== "") return general(message);
  return left.find(([pattern]) => new RegExp(pattern).test(nameOf(spec)))?.[1];
}

/**
 * Of the specs for the driver: names of those that passed and those that did not with what they said, and why others were
 * left out, by their names. Those that a focus has left out do not count. `left`: of `leftOut`.
 */
export async function readReport(file, left) {
  const specs = JSON.parse(await readFile(file, "utf8"))
    .flatMap((suite) => suite.SpecReports)
    .filter((spec) => spec.LeafNodeType === "It" && nameOf(spec).startsWith("External Storage"));
  const passed = [];
  const failed = [];
  const skipped = new Map();
  for (const spec of specs) {
    if (spec.State === "passed") passed.push(nameOf(spec));
    else if (spec.State !== "skipped" && spec.State !== "pending")
      failed.push({ name: nameOf(spec), state: spec.State, why: spec.Failure?.Message ?? "" });
    else if (reasonOf(spec, left) !== undefined) skipped.set(nameOf(spec), reasonOf(spec, left));
  }
  return { passed, failed, skipped };
}

/** Of two runs: what one of them has run is not left out. */
export function together(one, other) {
  const passed = [...one.passed, ...other.passed];
  const failed = [...one.failed, ...other.failed];
  const skipped = new Map([...other.skipped, ...one.skipped]);
  for (const name of [...passed, ...failed.map((each) => each.name)]) skipped.delete(name);
  return { passed, failed, skipped };
}

/** Prints it, the reasons with most specs first. */
export function printReport({ passed, failed, skipped }, say) {
  for (const { name, state, why } of failed) say(`${state}: ${name}\n    ${why.split("\n").join("\n    ")}`);
  const reasons = new Map();
  for (const reason of skipped.values()) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  for (const [reason, count] of [...reasons].sort(([, one], [, other]) => other - one))
    say(`  ${String(count).padStart(4)} skipped: ${reason}`);
  say(`${passed.length} passed, ${failed.length} failed, ${skipped.size} skipped`);
}
