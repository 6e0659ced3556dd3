// The version before this one as it was: its image, its chart and the definitions of its kinds, made of its commit. With it a cluster
// is upgraded to this version, and taken back.
import { execFile } from "node:child_process";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "../../../../scripts/lib/setup.mjs";

const execute = promisify(execFile);

/**
 * The commit. It is older than the kind of pools in a Ceph cluster: its definitions, its admission policies and its roles are not
 * those of now. A release names the one before it here.
 */
const COMMIT = "383792fc";
/** A lower number than this version's: its own files give it the same one. */
export const BEFORE = "0.0.9";

/** Makes it below `folder`; needs git and npm, and so the network. Returns the name of the image's archive there. */
export async function makeVersionBefore(folder) {
  const at = checkoutOf(folder);
  await mkdir(at);
  const archive = join(folder, "before.git.tar");
  await execute("git", ["archive", "--output", archive, COMMIT], { cwd: ROOT });
  await execute("tar", ["-xf", archive, "-C", at]);
  const quiet = ["--no-audit", "--no-fund", "--prefer-offline"];
  await execute("npm", ["ci", ...quiet], { cwd: at, maxBuffer: 64 << 20 });
  const image = ["--out", join(folder, "before.tar"), "--name", `docker.io/library/mooring:${BEFORE}`];
  await execute(process.execPath, ["scripts/image.mjs", ...image], { cwd: at, maxBuffer: 64 << 20 });
  await numbered(at);
  return "before.tar";
}

const checkoutOf = (folder) => join(folder, "before");

/** What an operator installs it from: the chart's folder and that of the definitions. */
export const filesOfVersionBefore = (folder) => ({
  chart: join(checkoutOf(folder), "chart"),
  kinds: join(checkoutOf(folder), "deploy/crds"),
});

/** Its chart under its own number, as the image has it. */
async function numbered(at) {
  const chart = join(at, "chart");
  await cp(join(at, "deploy/chart"), chart, { recursive: true, dereference: true });
  const file = join(chart, "Chart.yaml");
  const text = await readFile(file, "utf8");
  await writeFile(file, text.replace(/^(version|appVersion): .*$/gm, `$1: "${BEFORE}"`));
}
