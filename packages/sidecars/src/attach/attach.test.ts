import assert from "node:assert/strict";
import { test } from "node:test";
import { Code } from "@mooring/csi";
import {
  CSINodes,
  Events,
  isDeleting,
  type KubeObject,
  KubeVolumeAttachments,
  PersistentVolumes,
  type Resource,
  Secrets,
} from "@mooring/store";
import { covers } from "@mooring/store/testing";
import { attacherFinalizer } from "../common/names.ts";
import { type Harness, type HarnessOptions, startHarness } from "../testing/harness.ts";
import { csiNode, DRIVER, persistentVolume } from "../testing/objects.ts";

const FINALIZER = "external-attacher/test-csi-example-com";
const attachment = (name: string, volume = "pv", nodeName = "n1") => ({
  apiVersion: "storage.k8s.io/v1",
  kind: "VolumeAttachment",
  metadata: { name },
  spec: { attacher: DRIVER, nodeName, source: { persistentVolumeName: volume } },
});
const volumeFor = (handle: string, spec = {}) => {
  const { metadata, ...rest } = persistentVolume("pv", {
    csi: { driver: DRIVER, volumeHandle: handle, ...spec },
  });
  return { ...rest, metadata: { name: metadata.name } };
};
/** A cluster with one node, and a volume that the driver has. */
async function start(
  t: Parameters<typeof startHarness>[0],
  options: HarnessOptions = {},
  csi = {},
): Promise<Harness> {
  const objects: [Resource, KubeObject][] = [[CSINodes, csiNode("n1")], ...(options.objects ?? [])];
  const h = await startHarness(t, { ...options, objects });
  const { id } = h.driver.backend.createVolume({ name: "v", bytes: 1n, fingerprint: "", topology: [] });
  await h.store.create(PersistentVolumes, volumeFor(id, csi));
  return h;
}
const status = (h: Harness, name: string) =>
  h.store
    .get(KubeVolumeAttachments, { name })
    .then((found) => found.status as Record<string, unknown> | undefined);
const attached = (h: Harness, name: string) =>
  h.until(
    `${name} is attached`,
    async () => (await status(h, name))?.attached === true,
    () => status(h, name),
  );
const gone = (h: Harness, name: string) =>
  h.until(`${name} is gone`, async () => (await h.find(KubeVolumeAttachments, name)) === undefined);
const only = (h: Harness) => {
  const [volume] = h.driver.backend.volumes.values();
  return volume ?? assert.fail("no volume");
};

test("attach and detach", async (t) => {
  covers(
    "K8S-008",
    "K8S-037",
    "K8S-040",
    "K8S-041",
    "K8S-043",
    "K8S-044",
    "K8S-050",
    "K8S-051",
    "K8S-052",
    "K8S-059",
    "CSI-010",
    "CSI-146",
    "CSI-148",
  );
  const volumeAttributes = { made: "here", tier: "gold" };
  const h = await start(t, {}, { volumeAttributes });
  await h.store.create(KubeVolumeAttachments, attachment("a"));
  await attached(h, "a");
  const found = await h.store.get(KubeVolumeAttachments, { name: "a" });
  assert.deepEqual(found.status, { attached: true, attachmentMetadata: { device: `/dev/${only(h).id}` } });
  assert.deepEqual(found.metadata.finalizers, [FINALIZER]);
  assert.equal(found.metadata.annotations?.["csi.alpha.kubernetes.io/node-id"], "id-n1");
  assert.deepEqual((await h.find(PersistentVolumes, "pv"))?.metadata.finalizers?.includes(FINALIZER), true);
  assert.deepEqual([...only(h).publishedTo], ["id-n1"]);
  // Another life takes up what is there: it asks nothing about what is attached.
  await h.restart();
  await h.store.delete(KubeVolumeAttachments, { name: "a" });
  await gone(h, "a");
  assert.equal(only(h).publishedTo.size, 0);
  const published = h.driver.calls.filter(({ method }) => method === "ControllerPublishVolume");
  assert.deepEqual(
    published.map(({ request }) => ({ ...(request as { volumeContext: object }).volumeContext })),
    [volumeAttributes],
  );
  // Nobody has asked for its volume by a claim: it is not made, and not deleted.
  for (const method of ["CreateVolume", "DeleteVolume"]) assert.equal(h.driver.called(method), 0, method);
  assert.equal(h.driver.called("ControllerUnpublishVolume"), 1);
});

test("a volume under deletion keeps the attacher's finalizer until its last attachment is gone", async (t) => {
  covers("K8S-042");
  const h = await start(t);
  await h.store.create(KubeVolumeAttachments, attachment("a"));
  await attached(h, "a");
  await h.store.delete(PersistentVolumes, { name: "pv" });
  const late = attachment("late");
  await h.store.create(KubeVolumeAttachments, late);
  await h.until("the second is refused", async () => {
    const { message = "" } = ((await status(h, "late"))?.attachError ?? {}) as { message?: string };
    return message === 'PersistentVolume "pv" is marked for deletion';
  });
  await h.store.delete(KubeVolumeAttachments, { name: "late" });
  await gone(h, "late");
  assert.ok((await h.find(PersistentVolumes, "pv"))?.metadata.finalizers?.includes(FINALIZER));
  await h.store.delete(KubeVolumeAttachments, { name: "a" });
  await h.until("the volume is gone", async () => (await h.find(PersistentVolumes, "pv")) === undefined);
});

test("a failed attach is reported once per error, and repeated until it works", async (t) => {
  covers("K8S-045", "K8S-046", "K8S-047", "K8S-048", "K8S-049", "CSI-158");
  const h = await start(t);
  h.driver.faults.add({
    method: "ControllerPublishVolume",
    code: Code.RESOURCE_EXHAUSTED,
    message: "too many",
    times: Number.POSITIVE_INFINITY,
  });
  await h.store.create(KubeVolumeAttachments, attachment("a"));
  const error = await h.until(
    "the error is there",
    async () => (await status(h, "a"))?.attachError as object,
  );
  const { time, ...rest } = error as { time: string };
  assert.match(time, /^\d{4}-\d\d-\d\dT/);
  assert.deepEqual(rest, { message: "too many", errorCode: Code.RESOURCE_EXHAUSTED });
  assert.equal((await status(h, "a"))?.attached, false);
  const version = async () =>
    (await h.store.get(KubeVolumeAttachments, { name: "a" })).metadata.resourceVersion;
  const reported = await version();
  const calls = h.driver.called("ControllerPublishVolume");
  await h.until("it is tried again", () => h.driver.called("ControllerPublishVolume") > calls + 3);
  assert.equal(await version(), reported, "the status is not written for every attempt");
  h.driver.faults.clear();
  await attached(h, "a");
  assert.equal((await status(h, "a"))?.attachError, undefined);
  await h.until("its event", async () =>
    (await h.store.list(Events)).items.some(
      ({ involvedObject, message }) => involvedObject.kind === "VolumeAttachment" && message === "too many",
    ),
  );
});

test("a failed detach keeps the object and attached=true, and is repeated", async (t) => {
  covers("K8S-053", "K8S-054", "CSI-167");
  const h = await start(t);
  await h.store.create(KubeVolumeAttachments, attachment("a"));
  await attached(h, "a");
  h.driver.faults.add({
    method: "ControllerUnpublishVolume",
    code: Code.INTERNAL,
    message: "stuck",
    times: Number.POSITIVE_INFINITY,
  });
  await h.store.delete(KubeVolumeAttachments, { name: "a" });
  await h.until(
    "the error is there",
    async () => ((await status(h, "a"))?.detachError as { message?: string })?.message === "stuck",
  );
  assert.equal((await status(h, "a"))?.attached, true);
  h.driver.faults.clear();
  await gone(h, "a");
});

test("an uncertain attach is always followed by a detach call", async (t) => {
  covers("CSI-144");
  const h = await start(t);
  h.driver.faults.add({
    method: "ControllerPublishVolume",
    code: Code.DEADLINE_EXCEEDED,
    effect: true,
    times: 100,
  });
  await h.store.create(KubeVolumeAttachments, attachment("a"));
  await h.until("it was called", () => h.driver.called("ControllerPublishVolume") > 0);
  await h.store.delete(KubeVolumeAttachments, { name: "a" });
  await gone(h, "a");
  assert.equal(only(h).publishedTo.size, 0);
});

test("a detach works without the node, the volume's object and the secret", async (t) => {
  covers("K8S-114", "CSI-168");
  const data = { k: Buffer.from("v").toString("base64") };
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "s", namespace: "ns" }, data };
  const h = await start(
    t,
    { objects: [[Secrets, secret]] },
    { controllerPublishSecretRef: { name: "s", namespace: "ns" } },
  );
  await h.store.create(KubeVolumeAttachments, attachment("a"));
  await attached(h, "a");
  const [publish] = h.driver.calls.filter(({ method }) => method === "ControllerPublishVolume");
  assert.deepEqual((publish?.request as { secrets: object } | undefined)?.secrets, { k: "v" });
  await h.store.delete(CSINodes, { name: "n1" });
  await h.store.delete(Secrets, { name: "s", namespace: "ns" });
  const body = { metadata: { finalizers: [] } };
  await h.store.patch(PersistentVolumes, { name: "pv" }, { type: "merge", body });
  await h.store.delete(PersistentVolumes, { name: "pv" });
  await h.restart();
  await h.store.delete(KubeVolumeAttachments, { name: "a" });
  await gone(h, "a");
  assert.equal(only(h).publishedTo.size, 0);
});

test("an attachment waits for its node's driver, and goes on as soon as that is registered", async (t) => {
  covers("K8S-038");
  const h = await start(t, { sidecars: { retry: { startMs: 600_000, maxMs: 600_000 } } });
  await h.store.create(KubeVolumeAttachments, attachment("a", "pv", "n2"));
  await h.until("it reports why it waits", async () =>
    /CSINode n2 does not contain driver/.test(JSON.stringify(await status(h, "a"))),
  );
  await h.store.create(CSINodes, csiNode("n2"));
  await attached(h, "a");
});

test("an attachment that is deleted before its node's driver comes is not attached any more", async (t) => {
  covers("K8S-039");
  const h = await start(t);
  const kept = {
    ...attachment("late", "pv", "n2"),
    metadata: { name: "late", finalizers: ["example.com/keep"] },
  };
  await h.store.create(KubeVolumeAttachments, kept);
  await h.until("it waits", async () => /CSINode n2/.test(JSON.stringify(await status(h, "late"))));
  await h.store.delete(KubeVolumeAttachments, { name: "late" });
  await h.store.create(CSINodes, csiNode("n2"));
  const { id } = h.driver.backend.createVolume({ name: "w", bytes: 1n, fingerprint: "", topology: [] });
  const another = volumeFor(id);
  await h.store.create(PersistentVolumes, { ...another, metadata: { name: "another" } });
  await h.store.create(KubeVolumeAttachments, attachment("b", "another", "n2"));
  await attached(h, "b");
  const published = h.driver.calls.filter(({ method }) => method === "ControllerPublishVolume");
  assert.deepEqual(
    published.map(({ request }) => (request as { volumeId: string }).volumeId),
    [id],
  );
});

test("other attachers' objects are left alone", async (t) => {
  covers("K8S-035");
  const h = await start(t);
  const other = { ...attachment("other"), spec: { ...attachment("other").spec, attacher: "x.example.com" } };
  await h.store.create(KubeVolumeAttachments, other);
  await h.store.create(KubeVolumeAttachments, attachment("a"));
  await attached(h, "a");
  assert.equal(await status(h, "other"), undefined);
});

test("a driver without ControllerPublishVolume: attached at once, nothing to undo", async (t) => {
  covers("K8S-036");
  const h = await start(t, { driver: { can: ["CREATE_DELETE_VOLUME"] } });
  await h.store.create(KubeVolumeAttachments, attachment("a"));
  await attached(h, "a");
  assert.equal((await h.store.get(KubeVolumeAttachments, { name: "a" })).metadata.finalizers, undefined);
  await h.store.delete(KubeVolumeAttachments, { name: "a" });
  await gone(h, "a");
  assert.equal(h.driver.called("ControllerPublishVolume"), 0);
});

test("readonly is passed on only to drivers that understand it", async (t) => {
  covers("K8S-065", "CSI-147");
  for (const can of [
    ["PUBLISH_UNPUBLISH_VOLUME"],
    ["PUBLISH_UNPUBLISH_VOLUME", "PUBLISH_READONLY"],
  ] as const) {
    const h = await start(t, { driver: { can: [...can] } }, { readOnly: true });
    await h.store.create(KubeVolumeAttachments, attachment("a"));
    await attached(h, "a");
    const [publish] = h.driver.calls.filter(({ method }) => method === "ControllerPublishVolume");
    assert.equal((publish?.request as { readonly: boolean } | undefined)?.readonly, can.length === 2);
  }
});

test("when somebody else keeps the object after the detach, its status becomes detached", async (t) => {
  covers("K8S-131");
  const h = await start(t);
  const kept = attachment("a");
  await h.store.create(KubeVolumeAttachments, {
    ...kept,
    metadata: { name: "a", finalizers: ["example.com/keep"] },
  });
  await attached(h, "a");
  await h.store.delete(KubeVolumeAttachments, { name: "a" });
  await h.until("our part in it has ended", async () => {
    const { finalizers = [] } = (await h.store.get(KubeVolumeAttachments, { name: "a" })).metadata;
    return finalizers.join() === "example.com/keep";
  });
  const found = await h.store.get(KubeVolumeAttachments, { name: "a" });
  assert.equal(found.status?.attached, false);
  assert.ok(isDeleting(found));
});

test("a volume that the driver lost from a node is published again; one that it does not list is left alone", async (t) => {
  const can = ["PUBLISH_UNPUBLISH_VOLUME", "LIST_VOLUMES", "LIST_VOLUMES_PUBLISHED_NODES"] as const;
  const h = await start(t, { driver: { can: [...can] }, sidecars: { attach: { reconcileMs: 10 } } });
  await h.store.create(KubeVolumeAttachments, attachment("a"));
  await attached(h, "a");
  only(h).publishedTo.clear();
  await h.until("it is published again", () => only(h).publishedTo.has("id-n1"));
  const volume = only(h);
  h.driver.backend.volumes.clear();
  const before = h.driver.called("ListVolumes");
  await h.until("it was listed some more", () => h.driver.called("ListVolumes") > before + 3);
  h.driver.backend.volumes.set(volume.id, volume);
  assert.equal(h.driver.called("ControllerPublishVolume"), 2);
});

test("finalizer names keep only what a finalizer may have", () => {
  assert.equal(attacherFinalizer("a.b_c/d-"), "external-attacher/a-b-c-d-X");
});
