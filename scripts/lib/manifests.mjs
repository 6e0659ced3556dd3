// deploy/manifests is what deploy/chart renders with its default values: for operators who use kubectl alone.
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { kubectlPaths } from "../kubectl.mjs";
import { ROOT } from "./setup.mjs";

const execute = promisify(execFile);
export const CHART = join(ROOT, "deploy", "chart");
export const MANIFESTS = join(ROOT, "deploy", "manifests");
const HEAD = "# Made from deploy/chart by `npm run manifests`; change it there.\n";

/** The text that helm makes of the chart; `more`: further arguments (`--set`, `--values`). Throws what helm prints. */
export const renderChart = (...more) => renderChartIn(CHART, ...more);

/** The same of a chart in another folder. */
export async function renderChartIn(chart, ...more) {
  const { helm } = await kubectlPaths();
  const home = await mkdtemp(join(tmpdir(), "mooring-helm-"));
  try {
    const { stdout } = await execute(
      helm,
      ["template", "mooring", chart, "--namespace", "mooring", "--kube-version", "1.35.0", ...more],
      { env: { PATH: process.env.PATH ?? "", HOME: home }, maxBuffer: 64 << 20 },
    );
    return stdout;
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

/** `Map(file name -> text)` of deploy/manifests: one file for each template. */
export async function renderManifests() {
  const files = new Map();
  for (const document of (await renderChart()).split(/^---\n/m)) {
    const [, path] = /^# Source: (\S+)\n/.exec(document) ?? [];
    if (path === undefined) continue;
    const text = document
      .slice(document.indexOf("\n") + 1)
      .replaceAll("app.kubernetes.io/managed-by: Helm", "app.kubernetes.io/managed-by: kubectl")
      .trimEnd();
    const name = basename(path);
    files.set(name, `${files.has(name) ? `${files.get(name)}---\n` : HEAD}${text}\n`);
  }
  return files;
}
