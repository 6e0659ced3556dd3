import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { CsiError, v1 } from "@mooring/csi";
import { Events, KubeVolumeAttachments, Nodes, PersistentVolumes, Secrets } from "@mooring/store";
import { covers, thorough, eventually as until } from "@mooring/store/testing";
import { attachmentName, uniqueVolumeName } from "../../controllers/attach-detach/names.ts";
import { TEST_DRIVER } from "../testing/directory-driver.ts";
import {
  claim,
  eventually,
  logOf,
  NODE,
  PersistentVolumeClaims,
  Pods,
  phase,
  podWithClaim,
} from "../testing/test-cluster.ts";
import { FOREVER, LIFE, volumeCluster } from "../testing/volume-cluster.ts";

const { cluster, folder, remove, boundHandle, callsOf } = await volumeCluster();

test("calls come in order, once each, and the attachment has its name while it lasts", async () => {
  covers(
    "K8S-006",
    "K8S-056",
    "K8S-057",
    "K8S-058",
    "K8S-068",
    "K8S-070",
    "K8S-079",
    "K8S-102",
    "K8S-130",
    "CSI-009",
    "CSI-164",
    "CSI-248",
    "CSI-249",
    "CSI-250",
    "CSI-261",
    "CSI-262",
    "CSI-269",
    "CSI-293",
  );
  const { store } = cluster;
  await store.create(PersistentVolumeClaims, claim("order"));
  await store.create(Pods, podWithClaim("order", "order", FOREVER));
  await eventually(store, Pods, "order", phase("Running"));
  const handle = await boundHandle("order");
  const attachment = await store.get(KubeVolumeAttachments, {
    name: attachmentName(handle, TEST_DRIVER, NODE),
  });
  assert.deepEqual(attachment.spec, {
    attacher: TEST_DRIVER,
    nodeName: NODE,
    source: { persistentVolumeName: handle },
  });
  const node = await store.get(Nodes, { name: NODE });
  const unique = uniqueVolumeName(TEST_DRIVER, handle);
  assert.ok(node.status?.volumesInUse?.includes(unique));
  assert.ok(node.status?.volumesAttached?.some(({ name }) => name === unique));
  const uid = (await store.get(Pods, { namespace: "default", name: "order" })).metadata.uid ?? "";
  const target = join(folder, "kubelet/pods", uid, "volumes/kubernetes.io~csi", handle, "mount");
  assert.ok((await stat(target)).isDirectory());
  await remove("order");
  await eventually(store, KubeVolumeAttachments, attachment.metadata.name, (object) => object === undefined);
  assert.deepEqual(callsOf(handle), LIFE);
  await assert.rejects(stat(join(folder, "kubelet/pods", uid)));
});

test("nothing is staged or published as long as the driver has not attached the volume", async () => {
  covers("K8S-103");
  const { store, driver } = cluster;
  await store.create(PersistentVolumeClaims, claim("used"));
  const handle = await boundHandle("used");
  let refusals = 0;
  driver.before = (call, request) => {
    if (call !== "ControllerPublishVolume" || (request as { volumeId: string }).volumeId !== handle) return;
    if (refusals++ < 3) throw CsiError.unavailable("not attached yet");
    // Whoever had not waited for the attachment would have come by now.
    assert.deepEqual([...new Set(callsOf(handle))], ["ControllerPublishVolume"]);
  };
  await store.create(Pods, podWithClaim("used", "used", FOREVER));
  const name = attachmentName(handle, TEST_DRIVER, NODE);
  const refused = await eventually(
    store,
    KubeVolumeAttachments,
    name,
    (object) => object?.status?.attachError !== undefined,
  );
  assert.equal(refused?.status?.attached ?? false, false);
  await eventually(store, Pods, "used", phase("Running"));
  driver.before = () => {};
  assert.ok(refusals > 3, `${refusals} attempts`);
  await remove("used");
  await eventually(store, KubeVolumeAttachments, name, (object) => object === undefined);
  assert.deepEqual(callsOf(handle).slice(3), LIFE);
});

test("what the calls of a volume's life say", async () => {
  covers(
    "K8S-061",
    "CSI-253",
    "CSI-254",
    "CSI-255",
    "CSI-264",
    "CSI-282",
    "CSI-283",
    "CSI-284",
    "CSI-285",
    "CSI-294",
  );
  const { store, driver } = cluster;
  const requests = new Map<string, Record<string, unknown>>();
  driver.before = (call, request) => requests.set(call, { ...request });
  await store.create(PersistentVolumeClaims, claim("fields"));
  await store.create(Pods, podWithClaim("fields", "fields", "true"));
  const { metadata } = (await eventually(store, Pods, "fields", phase("Succeeded"))) ?? assert.fail();
  const handle = await boundHandle("fields");
  const attachment = attachmentName(handle, TEST_DRIVER, NODE);
  await eventually(store, KubeVolumeAttachments, attachment, (object) => object === undefined);
  driver.before = () => {};
  const hash = createHash("sha256").update(handle).digest("hex");
  const staging = join(folder, "kubelet/plugins/kubernetes.io/csi", TEST_DRIVER, hash, "globalmount");
  const target = join(
    folder,
    "kubelet/pods",
    metadata.uid ?? "",
    "volumes/kubernetes.io~csi",
    handle,
    "mount",
  );
  const common = {
    volumeId: handle,
    stagingTargetPath: staging,
    publishContext: { ticket: `for-${handle}` },
  };
  const of = (call: string, fields: object) => {
    const request = requests.get(call) ?? assert.fail(`no ${call}`);
    for (const [name, value] of Object.entries(fields))
      assert.deepEqual(request[name], value, `${call} ${name}`);
    return request;
  };
  const stage = of("NodeStageVolume", common);
  const publish = of("NodePublishVolume", { ...common, targetPath: target, readonly: false });
  const capability = stage["volumeCapability"] as {
    accessMode: { mode: number };
    accessType: { case: string };
  };
  assert.deepEqual(
    [capability.accessMode.mode, capability.accessType.case],
    [v1.VolumeCapability_AccessMode_Mode.SINGLE_NODE_WRITER, "mount"],
  );
  assert.deepEqual(publish["volumeContext"], stage["volumeContext"]);
  of("NodeUnpublishVolume", { volumeId: handle, targetPath: target });
  of("NodeUnstageVolume", { volumeId: handle, stagingTargetPath: staging });
});

test("two pods share a staged volume, each at a path of its own; it goes with the last", async () => {
  covers("K8S-067", "CSI-019");
  const { store } = cluster;
  await store.create(PersistentVolumeClaims, claim("shared"));
  await store.create(Pods, podWithClaim("one", "shared", FOREVER));
  await store.create(Pods, podWithClaim("two", "shared", FOREVER));
  for (const name of ["one", "two"]) await eventually(store, Pods, name, phase("Running"));
  const handle = await boundHandle("shared");
  await remove("one");
  assert.deepEqual(callsOf(handle), [
    "ControllerPublishVolume",
    "NodeStageVolume",
    "NodePublishVolume",
    "NodePublishVolume",
    "NodeUnpublishVolume",
  ]);
  await remove("two");
  await eventually(
    store,
    KubeVolumeAttachments,
    attachmentName(handle, TEST_DRIVER, NODE),
    (object) => object === undefined,
  );
  assert.equal(cluster.driver.mostInFlight(handle), 1);
  assert.equal(callsOf(handle).filter((call) => call === "NodeUnstageVolume").length, 1);
});

test("a driver that fails is asked again, and the pod's events have its error", async () => {
  covers("K8S-105", "CSI-164", "CSI-252", "CSI-271");
  const { store, driver } = cluster;
  await store.create(PersistentVolumeClaims, claim("flaky"));
  const handle = await boundHandle("flaky");
  const failures = new Map([
    ["NodeStageVolume", 2],
    ["NodePublishVolume", 1],
    ["NodeUnpublishVolume", 2],
    ["NodeUnstageVolume", 1],
  ]);
  driver.before = (call, request) => {
    const left = failures.get(call) ?? 0;
    if ((request as { volumeId: string }).volumeId !== handle || left === 0) return;
    failures.set(call, left - 1);
    throw CsiError.internal(`${call} does not feel well`);
  };
  await store.create(Pods, podWithClaim("flaky", "flaky", FOREVER));
  await eventually(store, Pods, "flaky", phase("Running"));
  await remove("flaky");
  await eventually(
    store,
    KubeVolumeAttachments,
    attachmentName(handle, TEST_DRIVER, NODE),
    (object) => object === undefined,
  );
  driver.before = () => {};
  assert.deepEqual([...failures.values()], [0, 0, 0, 0], "every call was refused, and came again");
  assert.deepEqual([...new Set(callsOf(handle))], LIFE);
  assert.equal(callsOf(handle).at(-1), "ControllerUnpublishVolume", "nothing of the node's came after it");
  const events = (await store.list(Events, { namespace: "default" })).items.filter(
    ({ involvedObject }) => involvedObject.name === "flaky",
  );
  assert.ok(
    events.some(
      ({ reason, message }) =>
        reason === "FailedMount" && /NodeStageVolume does not feel well/.test(message ?? ""),
    ),
  );
  assert.ok(events.some(({ reason }) => reason === "SuccessfulAttachVolume"));
});

test(
  "a driver that is busy with a volume is asked again alone, less and less often",
  thorough(),
  async () => {
    covers("CSI-298");
    const { store, driver } = cluster;
    await store.create(PersistentVolumeClaims, claim("busy"));
    const handle = await boundHandle("busy");
    const times: number[] = [];
    driver.before = (call, request) => {
      if (call !== "NodePublishVolume" || (request as { volumeId: string }).volumeId !== handle) return;
      times.push(performance.now());
      if (times.length < 4) throw CsiError.aborted("an operation is pending for it");
    };
    await store.create(Pods, podWithClaim("busy", "busy", FOREVER));
    await eventually(store, Pods, "busy", phase("Running"));
    driver.before = () => {};
    assert.equal(driver.mostInFlight(handle), 1);
    const [first = 0, second = 0, third = 0] = times
      .slice(1)
      .map((time, index) => time - (times[index] ?? 0));
    // 250 ms, doubled with each failure, and at most a fifth shorter; a timer is early by a little.
    for (const [delay, least] of [
      [first, 200],
      [second, 400],
      [third, 800],
    ] as const)
      assert.ok(delay >= least - 3, `${delay} ms, at least ${least}`);
    await remove("busy");
  },
);

test(
  "a pod that may not have a volume while another has it waits, and gets it after that one",
  thorough(),
  async () => {
    covers("CSI-299");
    const { store, driver } = cluster;
    await store.create(PersistentVolumeClaims, claim("single"));
    await store.create(Pods, podWithClaim("first", "single", FOREVER));
    await eventually(store, Pods, "first", phase("Running"));
    const handle = await boundHandle("single");
    let free = false;
    driver.before = (call, request) => {
      if ((request as { volumeId?: string }).volumeId !== handle) return;
      if (call === "NodeUnpublishVolume") free = true;
      if (call === "NodePublishVolume" && !free)
        throw CsiError.failedPrecondition("it is published at another path");
    };
    await store.create(Pods, podWithClaim("second", "single", FOREVER));
    await until("the refusal to be reported", async () => {
      const { items } = await store.list(Events, { namespace: "default" });
      return items.some(
        ({ involvedObject, message }) =>
          involvedObject.name === "second" && /published at another path/.test(message ?? ""),
      );
    });
    assert.notEqual(
      (await store.get(Pods, { namespace: "default", name: "second" })).status?.phase,
      "Running",
    );
    await remove("first");
    await eventually(store, Pods, "second", phase("Running"));
    driver.before = () => {};
    await remove("second");
  },
);

test("a pod whose object is gone without a goodbye loses its processes, volumes and folder", async () => {
  const { store } = cluster;
  await store.create(PersistentVolumeClaims, claim("force"));
  await store.create(Pods, podWithClaim("force", "force", FOREVER));
  await eventually(store, Pods, "force", phase("Running"));
  const handle = await boundHandle("force");
  await store.delete(Pods, { namespace: "default", name: "force" }, { gracePeriodSeconds: 0 });
  await eventually(
    store,
    KubeVolumeAttachments,
    attachmentName(handle, TEST_DRIVER, NODE),
    (object) => object === undefined,
  );
  assert.deepEqual(callsOf(handle), LIFE);
});

test("a block claim is a device in the container, and what is written to it is on the volume", async () => {
  covers("K8S-135");
  const { store } = cluster;
  await store.create(PersistentVolumeClaims, claim("raw", { ...claim("raw").spec, volumeMode: "Block" }));
  const wanted = podWithClaim(
    "raw",
    "raw",
    "stat -c %F /dev/xvda; printf mooring > /dev/xvda && head -c 7 /dev/xvda",
  );
  for (const container of wanted.spec?.containers ?? []) {
    delete container.volumeMounts;
    container.volumeDevices = [{ name: "data", devicePath: "/dev/xvda" }];
  }
  await store.create(Pods, wanted);
  await eventually(store, Pods, "raw", (object) => phase("Succeeded")(object) || phase("Failed")(object));
  assert.equal(await logOf(cluster, "raw"), "block special file\nmooring");
  await remove("raw");
  const handle = await boundHandle("raw");
  const name = attachmentName(handle, TEST_DRIVER, NODE);
  await eventually(store, KubeVolumeAttachments, name, (object) => object === undefined);
  assert.deepEqual(callsOf(handle), LIFE);
});

test("the driver gets the secrets of its volume, and fsGroup owns the files", async () => {
  covers("K8S-116", "K8S-117", "K8S-108");
  const { store, driver } = cluster;
  await mkdir(join(folder, "driver/volumes/secretive/deep"), { recursive: true });
  await store.create(Secrets, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "node", namespace: "default" },
    data: { pass: Buffer.from("grün").toString("base64"), user: Buffer.from("u").toString("base64") },
  });
  const reference = { name: "node", namespace: "default" };
  await store.create(PersistentVolumes, {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: "secretive" },
    spec: {
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteOnce"],
      storageClassName: "secretive",
      persistentVolumeReclaimPolicy: "Retain",
      mountOptions: ["noatime"],
      csi: {
        driver: TEST_DRIVER,
        volumeHandle: "secretive",
        fsType: "ext4",
        nodeStageSecretRef: reference,
        nodePublishSecretRef: reference,
      },
    },
  });
  const seen = new Map<string, unknown>();
  driver.before = (call, request) => {
    if ((request as { volumeId: string }).volumeId === "secretive" && "secrets" in request)
      seen.set(call, request.secrets);
  };
  await store.create(
    PersistentVolumeClaims,
    claim("secretive", { ...claim("x").spec, storageClassName: "secretive" }),
  );
  await store.create(
    Pods,
    podWithClaim("secretive", "secretive", "stat -c '%g %A' /data/deep; id -G", {
      securityContext: { fsGroup: 1234, runAsUser: 1000 },
    }),
  );
  await eventually(store, Pods, "secretive", phase("Succeeded"));
  driver.before = () => {};
  const expected = { pass: "grün", user: "u" };
  assert.deepEqual({ ...(seen.get("NodeStageVolume") as object) }, expected);
  assert.deepEqual({ ...(seen.get("NodePublishVolume") as object) }, expected);
  assert.equal(await logOf(cluster, "secretive"), "1234 drwxrwsr-x\n0 1234\n");
});
