// What came of Kubernetes' storage tests, from the report that they write.
import { readFile } from "node:fs/promises";

const nameOf = ({ ContainerHierarchyTexts, LeafNodeText }) =>
  [...(ContainerHierarchyTexts ?? []), LeafNodeText].join(" ");

const firstOf = (rows, text) => rows.find(([pattern]) => new RegExp(pattern).test(text))?.[1];

/** What it says goes before its name: one that says something was run, and has skipped itself. */
function reasonOf(spec, { left, themselves }) {
  const message = spec.Failure?.Message ?? "";
  return message === "" ? firstOf(left, nameOf(spec)) : firstOf(themselves, message);
}

/**
 * Of the specs for the driver whose name has `focus`: names of those that passed, those that did not with what they said, why
 * others were left out, by their names, and `unexplained`, what those said for which no reason is known. `reasons`: `left` of
 * `leftOut`, and `themselves` of `LEAVE_THEMSELVES_OUT`.
 */
export async function readReport(file, reasons, focus = "") {
  const wanted = new RegExp(`^External Storage.*(${focus})`);
  const specs = JSON.parse(await readFile(file, "utf8"))
    .flatMap((suite) => suite.SpecReports)
    .filter((spec) => spec.LeafNodeType === "It" && wanted.test(nameOf(spec)));
  const results = { passed: [], failed: [], skipped: new Map(), unexplained: new Map() };
  for (const spec of specs) {
    const [name, why] = [nameOf(spec), spec.Failure?.Message ?? ""];
    if (spec.State === "passed") results.passed.push(name);
    else if (spec.State !== "skipped" && spec.State !== "pending")
      results.failed.push({ name, state: spec.State, why });
    else {
      const reason = reasonOf(spec, reasons);
      if (reason === undefined) results.unexplained.set(name, why);
      else results.skipped.set(name, reason);
    }
  }
  return results;
}

/** Of two runs: what one of them has run is not left out, and what one of them explains is explained. */
export function together(one, other) {
  const passed = [...one.passed, ...other.passed];
  const failed = [...one.failed, ...other.failed];
  const skipped = new Map([...other.skipped, ...one.skipped]);
  const unexplained = new Map([...other.unexplained, ...one.unexplained]);
  for (const name of skipped.keys()) unexplained.delete(name);
  for (const name of [...passed, ...failed.map((each) => each.name)])
    for (const map of [skipped, unexplained]) map.delete(name);
  return { passed, failed, skipped, unexplained };
}

/** For the record: how many, and of those left out how many for each reason, most first. */
export function countsOf({ passed, failed, skipped, unexplained }) {
  const reasons = new Map();
  for (const reason of skipped.values()) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  const most = [...reasons].sort(([one, few], [other, many]) => many - few || (one < other ? -1 : 1));
  return {
    ...{ passed: passed.length, failed: failed.length, skipped: skipped.size },
    ...{ unexplained: unexplained.size, reasons: Object.fromEntries(most) },
  };
}

/** Prints it. */
export function printReport(results, say) {
  for (const { name, state, why } of results.failed)
    say(`${state}: ${name}\n    ${why.split("\n").join("\n    ")}`);
  const { passed, failed, skipped, reasons } = countsOf(results);
  for (const [reason, count] of Object.entries(reasons))
    say(`  ${String(count).padStart(4)} left out: ${reason}`);
  say(`${passed} passed, ${failed} failed, ${skipped} left out`);
}

/** What is not as it has to be, a line each; none when all is well. `least`: how many have to pass. */
export function problemsOf({ passed, failed, unexplained }, least) {
  const problems = failed.map(({ name, state }) => `${state}: ${name}`);
  for (const [name, said] of unexplained)
    problems.push(`left out for no reason that is known: ${name}${said === "" ? "" : `: ${said}`}`);
  if (passed.length < least)
    problems.push(`${passed.length} specs passed, where ${least} have passed before`);
  return problems;
}
