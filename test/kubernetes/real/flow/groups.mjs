// Both volumes of an application at one moment, and back together.
import assert from "node:assert/strict";
import { groupRestore, groupSnapshot, pod } from "./objects.mjs";

/** The application writes all the time. */
export async function groups(kube) {
  await kube.apply(groupSnapshot("noon"));
  await kube.shows("volumegroupsnapshot/noon", "{.status.readyToUse}", "true");
  await kube.apply(groupRestore("again", "noon"));
  await kube.shows("volumegrouprestore/again", '{.status.conditions[?(@.type=="Complete")].status}', "True");
  await kube.apply(
    pod("again", { mounts: { "/data": "data-again" } }),
    pod("raw-again", { devices: { "/dev/raw": "raw-again" } }),
  );
  await kube.ready("again", "raw-again");
  assert.equal(await kube.sh("again", "cd /data && md5sum -c sum"), "file: OK");
  const sum = (name) => kube.sh(name, "dd if=/dev/raw bs=1M count=16 2>/dev/null | md5sum");
  assert.equal(await sum("raw-again"), await sum("raw-writer"));
  await kube.delete("pod/again", "pod/raw-again", "volumegrouprestore/again");
  await kube.delete("pvc/data-again", "pvc/raw-again", "volumegroupsnapshot/noon");
}
