// Kubernetes' storage tests as a program on a cluster.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { ROOT } from "../../../../scripts/lib/setup.mjs";
import { Program } from "../support/program.mjs";
import { readReport } from "./report.mjs";

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
