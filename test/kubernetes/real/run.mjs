#!/usr/bin/env node
// `npm run test:kubernetes`: Mooring on a real Kubernetes. First an API server with RBAC, NodeRestriction and an audit log, the
// chart by helm, and both processes with their own rights; `--short` ends there. Then a cluster with a kubelet and pods, and one
// with two nodes, which lose their API server and are upgraded. By name only: Kubernetes' own storage tests, of Mooring's volumes and of
// drivers of others.
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { kubectlPaths } from "../../../scripts/kubectl.mjs";
import { bundle } from "../../../scripts/lib/bundle.mjs";
import { run } from "../../../scripts/lib/run.mjs";
import { ROOT, setUp } from "../../../scripts/lib/setup.mjs";
import { apiServerStep } from "./api-server.mjs";
import { WORKERS } from "./flow/two-nodes.mjs";
import {
  buildPopulator,
  buildPrograms,
  hostPathDriver,
  missingPrograms,
  PROGRAMS,
  programFolder,
  SUITE,
} from "./support/components.mjs";
import { busyboxImage, suiteImages } from "./support/images.mjs";
import { detachLoops, makeCgroups, removeCgroups, runApart } from "./support/namespaces.mjs";
import { recorded } from "./support/record.mjs";
import { recordedRights, unusedInManifests, usedIn } from "./support/used-rights.mjs";
import { makeVersionBefore } from "./support/version-before.mjs";

const USAGE = `npm run test:kubernetes -- [OPTION...]
  --short         the API server only: no pods
  --cached        only where the programs are built already; says so where they are not, and tests nothing
  --only STEP     one of them: api-server, cluster, nodes; by their names only: storage-suite, Kubernetes' own storage tests of
                  Mooring's volumes, and hostpath-suite and minimal-suite, the same of drivers of others around which
                  \`mooring controller\` runs: the Kubernetes project's host-path driver, and that of examples/driver-minimal
  --focus REGEX   of a suite: specs whose name has it
  --at-once N     of a suite: so many specs at once (3)
  --record        keep what was shown of requirements, for \`npm run conformance\`
MOORING_KUBERNETES_BIN=FOLDER has the programs, MOORING_KEEP=1 keeps what a run leaves`;

/** What a machine with pods needs besides. */
const FOR_PODS = [
  { command: "containerd", package: "containerd", why: "runs the pods of the cluster's nodes" },
  { command: "busybox", package: "busybox-static", why: "is what pods run", folders: ["/bin"] },
  {
    ...{ command: "bridge", package: "containernetworking-plugins", folders: ["/usr/lib/cni"] },
    why: "gives pods their network",
  },
];

const { values } = parseArgs({
  options: {
    short: { type: "boolean", default: false },
    cached: { type: "boolean", default: false },
    only: { type: "string" },
    focus: { type: "string", default: "" },
    "at-once": { type: "string", default: "3" },
    record: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
const say = (text) => process.stdout.write(`${text}\n`);
if (values.help) {
  say(USAGE);
  process.exit(0);
}
if (values.record && values.focus !== "") {
  process.stderr.write("--record keeps what a whole step has shown: leave --focus out\n");
  process.exit(2);
}

/** Rights that Mooring's accounts have used, by step. */
const used = {};

/** No role gives what no step has used, now or when it was recorded. */
async function compareRights() {
  // Some specs of a suite use less than all of them have, which is recorded.
  const now = values.focus === "" ? used : {};
  const unused = await unusedInManifests({ ...(await recordedRights()), ...now });
  for (const line of unused) say(`given, and used neither now nor in recorded runs: ${line}`);
  if (unused.length > 0) throw new Error("roles give what nobody uses: see above");
}

/** Runs it where it is wanted. Some only are by their name. */
async function step(name, work, always = true) {
  if (values.only === undefined ? !always : values.only !== name) return;
  const from = Date.now();
  say(`\n=== ${name}`);
  const rights = () => usedIn(join(folder, `rights-${name}`), work);
  used[name] = { used: await (values.record ? recorded(name, folder, rights) : rights()) };
  say(`=== ${name}: ${Math.round((Date.now() - from) / 1000)} s`);
}

async function mooringImage(file) {
  const made = await run("node", ["scripts/image.mjs", "--out", file], { cwd: ROOT });
  if (made !== 0) throw new Error("there is no image");
}

/**
 * A cluster in namespaces of its own, with Mooring's image unless `image` is false. `groups`: control groups that its script needs below
 * its own; `more`: makes what else it needs in its folder, and returns further arguments.
 */
async function clusterStep(at, script, { groups = [], more = () => [], image = true } = {}) {
  await mkdir(at);
  await busyboxImage(join(at, "busybox.tar"));
  if (image) await mooringImage(join(at, "mooring.tar"));
  const args = await more(at);
  const cgroup = `mooring-cluster-${process.pid}`;
  for (const group of ["", ...groups]) await makeCgroups(join(cgroup, group));
  try {
    const file = fileURLToPath(new URL(script, import.meta.url));
    if ((await runApart(file, [at, bin, cgroup, ...args])) !== 0)
      throw new Error("the cluster's step has failed");
  } finally {
    await removeCgroups(cgroup);
    await detachLoops(at);
  }
}

/** The image of the version before. */
const versionBefore = async (at) => [await makeVersionBefore(at)];

/** The images that the suite names. */
async function suite(at) {
  const images = ["mooring.tar", "busybox.tar", ...(await suiteImages(at, bin))];
  return [images.join(","), values["at-once"], values.focus];
}

/** Suites of drivers of others, by their steps. */
const DRIVER_SUITES = { "hostpath-suite": "hostpath", "minimal-suite": "minimal" };

/** What driver-suite.mjs needs for one of them. `program`: see there. */
const driverSuite = (driver, program) => async (at) => {
  const images = ["busybox.tar", ...(await suiteImages(at, bin))];
  const settings = { driver, program, images, focus: values.focus, atOnce: Number(values["at-once"]) };
  return [JSON.stringify(settings)];
};

const needed = values.short ? ["etcd", "kube-apiserver"] : [...PROGRAMS];
const isSuite = values.only === "storage-suite" || values.only in DRIVER_SUITES;
if (isSuite) needed.push(...SUITE);
const missing = missingPrograms(needed);
if (values.cached && missing.length > 0) {
  say(`NOT TESTED: Mooring on a real Kubernetes. ${missing.join(", ")} not in ${programFolder()}.`);
  say(`Once \`npm run test:kubernetes${values.short ? " -- --short" : ""}\` has built them, this runs.`);
  process.exit(0);
}
const podless = values.short || values.only === "api-server";
await setUp("npm run test:kubernetes", podless ? [] : FOR_PODS);
await bundle();
// They are fetched where there is a network: the clusters' machines have their own.
const { kubectl } = await kubectlPaths();
process.env.PATH = `${dirname(kubectl)}:${process.env.PATH}`;
const bin = await buildPrograms(needed, say);
if (isSuite) await buildPopulator(say);
// Its module is not with every proxy: it is asked for where it is needed only.
const program = values.only === "hostpath-suite" ? await hostPathDriver(say) : undefined;
const folder = await mkdtemp(join(tmpdir(), "mooring-kubernetes-"));
try {
  await step("api-server", () => apiServerStep({ folder: join(folder, "api"), bin, say }));
  const cluster = (name, options, always = !values.short) =>
    step(name, () => clusterStep(join(folder, name[0]), `${name}.mjs`, options), always);
  await cluster("cluster");
  await cluster("nodes", { groups: WORKERS, more: versionBefore });
  await cluster("storage-suite", { groups: WORKERS, more: suite }, false);
  for (const [name, driver] of Object.entries(DRIVER_SUITES)) {
    const at = join(folder, "d");
    const options = { more: driverSuite(driver, program), image: false };
    await step(name, () => clusterStep(at, "driver-suite.mjs", options), false);
  }
  await compareRights();
} finally {
  if (process.env.MOORING_KEEP === undefined) await rm(folder, { recursive: true, force: true });
  else say(`kept: ${folder}`);
}
