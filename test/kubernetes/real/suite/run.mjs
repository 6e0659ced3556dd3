// Kubernetes' storage tests as a program on a cluster.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { ROOT } from "../../../../scripts/lib/setup.mjs";
import { Program } from "../support/program.mjs";
import { readReport, together } from "./report.mjs";

/**
 * Runs the specs of the driver whose name has `focus` and none of `without`; returns what `readReport` makes of them. `name`: of its
 * logs; `driver`: the file that says what the driver can; `reasons`: as `readReport` has them; `atOnce`: so many specs. Most of the
 * time they wait.
 */
export async function runSuite(cluster, { bin, name, driver, focus, without, reasons, atOnce = 3 }) {
  const out = join(cluster.logs, name);
  await mkdir(out);
  const program = new Program(
    "ginkgo",
    [
      ...[join(bin, "ginkgo"), `--procs=${atOnce}`, "--timeout=4h", "--no-color"],
      ...["--poll-progress-after=10m", "--json-report=report.json", `--output-dir=${out}`],
      ...["--focus", `External.Storage.*(${focus})`, ...without.flatMap((pattern) => ["--skip", pattern])],
      ...[join(bin, "e2e.test"), "--", `--kubeconfig=${cluster.admin}`, "--provider=skeleton"],
      ...[`--repo-root=${ROOT}`, `--storage.testdriver=${driver}`, "--dump-logs-on-failure=false"],
      ...[`--e2e-output-dir=${out}`, `--report-dir=${out}`],
    ],
    { log: join(cluster.logs, `${name}.log`) },
  ).start();
  await program.ended();
  return readReport(join(out, "report.json"), reasons, focus);
}

/**
 * The same, where specs whose name has the text `text` want another class than the others: `StorageClass` as a file of a driver has it. They are
 * run by themselves.
 */
export async function runWithTwoClasses(cluster, specs, { text, StorageClass }) {
  const results = await runSuite(cluster, { ...specs, without: [...specs.without, text] });
  if (![...results.unexplained.keys()].some((name) => name.includes(text))) return results;
  const driver = join(cluster.folder, "e2e-driver.yaml");
  await writeFile(driver, stringify({ ...parse(await readFile(specs.driver, "utf8")), StorageClass }));
  const others = { ...specs, name: `${specs.name}-other-class`, driver, focus: text };
  return together(results, await runSuite(cluster, others));
}
