// An attachment is deleted while its pod runs, as by force: the kubelet keeps the mount for whoever wants the volume next, and waits for
// the attachment to be gone, so the attachment must not wait for the mount.
import assert from "node:assert/strict";
import { until } from "../support/program.mjs";
import { bringBack } from "./mover.mjs";
import { countNumbers } from "./objects.mjs";

const ATTACHMENTS =
  '{range .items[*]}{.spec.source.persistentVolumeName} {.metadata.name} {.metadata.uid} {.status.attached}{"\\n"}{end}';

/** Name, uid and whether it is attached, of the volume's one attachment; undefined: there is none. */
async function attachmentOf(kube, volume) {
  const list = await kube.kubectl("get", "volumeattachments", "-o", `jsonpath=${ATTACHMENTS}`);
  const row = list
    .split("\n")
    .map((line) => line.split(" "))
    .find(([of]) => of === volume);
  return row === undefined ? undefined : { name: row[1], uid: row[2], attached: row[3] === "true" };
}

const numbers = async (kube, name) => countNumbers(await kube.sh(name, "cat /data/numbers"));

export async function detachedInUse(kube, name) {
  const volume = await kube.get(`pvc/${name}`, "{.spec.volumeName}");
  const before = await numbers(kube, name);
  const first = await attachmentOf(kube, volume);
  assert.ok(first?.attached);
  await kube.kubectl("delete", "volumeattachment", first.name, "--wait=false");
  await until("the deleted attachment to be gone, and another one to be attached", async () => {
    const now = await attachmentOf(kube, volume);
    return now !== undefined && now.uid !== first.uid && now.attached;
  });
  await until("the pod to have written on", async () => (await numbers(kube, name)) > before + 10);
  await kube.delete(`pod/${name}`);
  await bringBack(kube, name);
}
