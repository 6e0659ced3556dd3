// Mooring is uninstalled while pods have volumes, and comes back: pods do not notice, and nothing of theirs is lost.
import assert from "node:assert/strict";
import { until } from "../support/program.mjs";
import { dataFolders, everythingWorks, writeOn } from "./restarts.mjs";
import { ON } from "./two-nodes.mjs";

const volumes = (kube) =>
  kube.kubectl("get", "volumes.storage.mooring.dev", "-o", "jsonpath={.items[*].metadata.name}");

/** `install`: as it was installed first. */
export async function uninstalledInUse(kube, helm, { workers, install }) {
  const data = await dataFolders(kube, workers);
  // Those of before are on their way out.
  const before = await until("only the volumes of both pods to be there", async () => {
    const names = await volumes(kube);
    return names.split(" ").length === Object.keys(ON).length ? names : undefined;
  });
  await helm("uninstall", "mooring", "--wait", "--timeout=15m");
  await until(
    "no process of Mooring to be left",
    async () => (await kube.kubectl("-n", "mooring", "get", "pods", "-o", "name")) === "",
  );
  await writeOn(data);
  assert.equal(await volumes(kube), before, "the kinds, and so what is known of volumes, stay");
  await install();
  await writeOn(data);
  await everythingWorks(kube, "installed-again");
  for (const name of Object.values(ON))
    assert.equal(await kube.get(`pod/${name}`, "{.status.containerStatuses[0].restartCount}"), "0");
}
