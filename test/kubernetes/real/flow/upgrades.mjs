// From the version before to this one, back, and on again, with volumes in use: every process is another one, pods write on, and either
// version works with what the other has made.
import assert from "node:assert/strict";
import { join } from "node:path";
import { CHART } from "../../../../scripts/lib/manifests.mjs";
import { ROOT } from "../../../../scripts/lib/setup.mjs";
import { until } from "../support/program.mjs";
import { BEFORE, filesOfVersionBefore } from "../support/version-before.mjs";
import { claim, fromSnapshot, pod, snapshot } from "./objects.mjs";
import { dataFolders, everythingWorks, writeOn } from "./restarts.mjs";
import { ON } from "./two-nodes.mjs";

const SOURCE = ON["worker-1"];

const images = (kube) =>
  kube.kubectl("-n", "mooring", "get", "pods", "-o", "jsonpath={.items[*].spec.containers[0].image}");

/** The number that this checkout's image has. */
async function now(helm) {
  const chart = await helm("show", "chart", CHART);
  return /^appVersion: "?([^"\n]*)/m.exec(chart)[1];
}

const applyKinds = (kube, folder) =>
  kube.kubectl("apply", "--server-side", "--force-conflicts", "-f", folder);

/** A copy that one version makes, which the other one has to give back. */
async function copyFor(kube, name) {
  await kube.apply(snapshot(name, SOURCE));
  await kube.shows(`volumesnapshot/${name}`, "{.status.readyToUse}", "true");
}

async function restoreOf(kube, name) {
  await kube.apply(claim(name, "300Mi", fromSnapshot(name)), pod(name, { mounts: { "/data": name } }));
  await kube.ready(name);
  assert.equal(await kube.sh(name, "cd /data && md5sum -c sum"), "file: OK");
  await kube.delete(`pod/${name}`, `pvc/${name}`);
  await kube.delete(`volumesnapshot/${name}`);
}

/** `change`: makes Mooring be of the version `to`. */
async function become(kube, workers, { to, change }) {
  const data = await dataFolders(kube, workers);
  const copy = `copy-for-${to.replaceAll(".", "-")}`;
  await copyFor(kube, copy);
  await change();
  await until(`all processes of Mooring to be of ${to}`, async () =>
    (await images(kube)).split(" ").every((image) => image.endsWith(`:${to}`)),
  );
  await writeOn(data);
  await restoreOf(kube, copy);
  await everythingWorks(kube, `with-${to.replaceAll(".", "-")}`);
  for (const name of Object.values(ON))
    assert.equal(await kube.get(`pod/${name}`, "{.status.containerStatuses[0].restartCount}"), "0");
}

/** As the page says: the definitions of the kinds first. */
export async function upgrade(kube, helm, workers) {
  const change = async () => {
    await applyKinds(kube, join(ROOT, "deploy/crds"));
    await helm("upgrade", "mooring", CHART, "--wait", "--timeout=15m");
  };
  await become(kube, workers, { to: await now(helm), change });
}

/** The other way round: what runs first. `folder`: where the version before was made. */
export async function takeBack(kube, helm, { workers, folder }) {
  const change = async () => {
    await helm("rollback", "mooring", "1", "--wait", "--timeout=15m");
    await applyKinds(kube, filesOfVersionBefore(folder).kinds);
  };
  await become(kube, workers, { to: BEFORE, change });
}
