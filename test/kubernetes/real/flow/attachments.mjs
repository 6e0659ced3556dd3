// What becomes of VolumeAttachments while a driver attaches and detaches: our attacher is around a driver of another vendor, which
// can be stopped in the middle of either.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ROOT } from "../../../../scripts/lib/setup.mjs";
import { readRequests, requestsSoFar } from "../support/audit.mjs";
import { Program, until } from "../support/program.mjs";
import { makeVolumes, podOf, removeVolumes } from "./other-drivers.mjs";

const KIND = "volumeattachments.storage.k8s.io";
const VOLUME = "attached";
const FINALIZER = "external-attacher/attaches-example-com";

/** As Kubernetes' own controller calls it. */
const nameFor = (driver, node) =>
  `csi-${createHash("sha256").update(`${VOLUME}${driver}${node}`).digest("hex")}`;

/** Each time that Kubernetes' own controller has failed to attach, by its log. */
async function failuresOf({ cluster }) {
  const lines = (await readFile(join(cluster.logs, "kube-controller-manager.log"), "utf8")).split("\n");
  // The last line may be half written.
  const failed = `^${VOLUME} podName: nodeName:}" failed. No retries permitted`;
  return lines.slice(0, -1).filter((line) => line.includes(failed));
}

async function startAttacher({ cluster }, driver) {
  const ready = join(cluster.folder, "attacher-ready");
  const log = join(cluster.logs, "attacher.log");
  const around = ["--csi-address", driver.socket, "--kubeconfig", cluster.admin, "--ready-file", ready];
  const argv = [process.execPath, join(ROOT, "dist/mooring.mjs"), "controller", ...around];
  const attacher = new Program("the attacher", argv, { log }).start();
  await until("the attacher", async () => (await readFile(ready, "utf8").catch(() => "")) !== "");
  return attacher;
}

/** Has each call wait for `detaching` before it detaches. Returns what the VolumeAttachment is while the driver is called, by method. */
function readDuring(driver, read, detaching) {
  const during = { ControllerPublishVolume: [], ControllerUnpublishVolume: [] };
  driver.before("ControllerPublishVolume", VOLUME, async () => {
    during.ControllerPublishVolume.push(await read());
  });
  driver.before("ControllerUnpublishVolume", VOLUME, async () => {
    during.ControllerUnpublishVolume.push(await read());
    await detaching;
  });
  return during;
}

/**
 * A VolumeAttachment has our finalizer before the driver is called, and until it has detached: the API server keeps it so long.
 * While it goes, Kubernetes' own controller attaches nothing by it, whatever its status, and makes no new one.
 */
export async function attachesAnew(kube, { attaches: driver }) {
  const name = nameFor(driver.name, "worker-1");
  const read = async () => {
    const text = await kube.kubectl("get", `${KIND}/${name}`, "-o", "json", "--ignore-not-found");
    return text === "" ? undefined : JSON.parse(text);
  };
  let detach;
  const detaching = new Promise((resolve) => {
    detach = resolve;
  });
  const during = readDuring(driver, read, detaching);
  const attacher = await startAttacher(kube, driver);
  try {
    await makeVolumes(kube, driver, [VOLUME]);
    const first = await attachedByHand(kube, { name, driver, read });
    await kube.kubectl("delete", `${KIND}/${name}`, "--wait=false");
    await until("the driver to detach", () => during.ControllerUnpublishVolume.length > 0);
    const before = await requestsSoFar(kube.cluster);
    await kube.apply(podOf(VOLUME));
    await until("Kubernetes' controller to try twice", async () => (await failuresOf(kube)).length >= 2);
    for (const failure of await failuresOf(kube))
      assert.match(failure, /volume attachment is being deleted$/);
    const { metadata, status } = await read();
    assert.deepEqual([metadata.uid, metadata.finalizers, status.attached], [first, [FINALIZER], true]);
    assert.match(metadata.deletionTimestamp, /./);
    assert.deepEqual(driver.callsOf(VOLUME, "NodePublishVolume"), []);
    detach();
    await kube.ready(VOLUME);
    const second = (await read()).metadata.uid;
    assert.notEqual(second, first);
    await madeOnce(kube, { name, before });
    await kube.delete(`pod/${VOLUME}`);
    await until("it to be detached", async () => (await read()) === undefined);
    for (const [method, seen] of Object.entries(during)) {
      assert.deepEqual([...new Set(seen.map((each) => each?.metadata.uid))], [first, second], method);
      for (const each of seen) assert.deepEqual(each.metadata.finalizers, [FINALIZER], method);
    }
    await removeVolumes(kube, VOLUME);
  } finally {
    detach();
    await attacher.end();
  }
}

/** Somebody else makes the object first, and our attacher attaches by it. Resolves with its UID. */
async function attachedByHand(kube, { name, driver, read }) {
  await kube.apply({
    ...{ apiVersion: "storage.k8s.io/v1", kind: "VolumeAttachment", metadata: { name } },
    spec: { attacher: driver.name, nodeName: "worker-1", source: { persistentVolumeName: VOLUME } },
  });
  await kube.shows(`${KIND}/${name}`, "{.status.attached}", "true");
  return (await read()).metadata.uid;
}

/** Kubernetes' own controller has asked for one once, and only when our attacher had taken the finalizer from the one before. */
async function madeOnce(kube, { name, before }) {
  const received = ({ requestReceivedTimestamp: at }) => Date.parse(at) * 1000 + Number(at.slice(-4, -1));
  const ofIt = (await readRequests(kube.cluster.audit.file))
    .slice(before)
    .filter(({ objectRef }) => objectRef?.resource === "volumeattachments" && objectRef.name === name)
    .sort((one, other) => received(one) - received(other));
  const created = ofIt.filter(({ verb }) => verb === "create");
  assert.deepEqual(
    created.map(({ user, responseStatus }) => [user.username, responseStatus.code]),
    [["system:serviceaccount:kube-system:attachdetach-controller", 201]],
  );
  const released = ofIt.findIndex(
    ({ userAgent, verb, objectRef }) =>
      userAgent === "mooring" && /^(patch|update)$/.test(verb) && objectRef.subresource === undefined,
  );
  assert.ok(released !== -1 && released < ofIt.indexOf(created[0]), JSON.stringify(ofIt));
}
