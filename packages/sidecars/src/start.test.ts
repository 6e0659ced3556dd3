import assert from "node:assert/strict";
import { test } from "node:test";
import { Code } from "@mooring/csi";
import {
  ConfigMaps,
  CSINodes,
  Events,
  KubeVolumeAttachments,
  Leases,
  type Logger,
  Nodes,
  PersistentVolumeClaims,
  PersistentVolumes,
  type Resource,
  Secrets,
  StorageClasses,
  VolumeSnapshots,
} from "@mooring/store";
import { covers, howMany, nothingSleeps } from "@mooring/store/testing";
import { startSidecars } from "./start.ts";
import { type Harness, startHarness, until } from "./testing/harness.ts";
import { claim, DRIVER, node, persistentVolume, storageClass } from "./testing/objects.ts";

const plainClaim = (name: string, spec = {}) => ({
  ...claim(name, spec),
  metadata: { name, namespace: "default" },
});
const boundCount = async (h: Harness) =>
  (await h.store.list(PersistentVolumeClaims)).items.filter(({ status }) => status?.phase === "Bound").length;

test("what runs follows from what the driver can", async (t) => {
  covers("K8S-009", "K8S-010", "KEP-007", "KEP-117");
  const able = await startHarness(t, { sidecars: { nodeName: "n1" } });
  assert.deepEqual(able.sidecars.controllers, [
    "provision",
    "attach",
    "resize",
    "snapshot",
    "group-restore",
    "capacity",
    "health",
    "node-registration",
  ]);
  assert.equal(able.sidecars.driver.name, DRIVER);
  const poor = await startHarness(t, { driver: { can: [], expansion: "none" } });
  assert.deepEqual(poor.sidecars.controllers, ["attach", "health"]);
  const grouped = await startHarness(t, { driver: { can: [], expansion: "none", groups: true } });
  assert.deepEqual(grouped.sidecars.controllers, ["attach", "group-snapshot", "health"]);
  const chosen = await startHarness(t, { sidecars: { controllers: ["provision"] } });
  assert.deepEqual(chosen.sidecars.controllers, ["provision"]);
});

test("a driver that is not there, or not ready yet, is waited for", async (t) => {
  covers("CSI-055", "CSI-320");
  const h = await startHarness(t);
  await h.stop();
  await h.driver.pause();
  h.driver.ready = false;
  const stop = new AbortController();
  let started = false;
  const { store, driver } = h;
  const starting = startSidecars({
    store,
    endpoint: driver.endpoint,
    controllers: [],
    signal: stop.signal,
  }).then((sidecars) => {
    started = true;
    return sidecars;
  });
  // Its socket comes after who is to use it.
  await h.driver.listen();
  const before = driver.called("Probe");
  await h.until("it was probed some more", () => driver.called("Probe") > before + 2);
  assert.equal(started, false);
  driver.ready = true;
  const { done, driver: found } = await starting;
  assert.deepEqual([found.name, found.expansion], [DRIVER, "online"], "it was asked what it can do");
  stop.abort();
  await done;
});

test("a driver that is broken when it is reached is not used", async (t) => {
  covers("CSI-063", "CSI-065");
  const h = await startHarness(t);
  await h.stop();
  const broken = { method: "Probe", code: Code.FAILED_PRECONDITION, message: "mkfs.xfs is missing" };
  h.driver.faults.add(broken);
  await h.store.create(PersistentVolumeClaims, plainClaim("one"));
  await assert.rejects(h.restart(), /mkfs\.xfs is missing/);
  assert.equal(h.driver.called("CreateVolume"), 0);
  await h.restart();
  await h.until("it is bound", async () => (await boundCount(h)) === 1);
});

test("one of two processes works, and the other takes over when it stops", async (t) => {
  const leaderElection = { retryMs: 20, durationMs: 60_000, renewDeadlineMs: 30_000 };
  const h = await startHarness(t, { sidecars: { leaderElection } });
  const lease = () => h.find(Leases, "mooring-sidecars-test-csi-example-com", "kube-system");
  const first = await h.until("the first leads", async () => (await lease())?.spec?.holderIdentity);
  const stop = new AbortController();
  t.after(() => stop.abort());
  const second = await startSidecars({
    store: h.store,
    endpoint: h.driver.endpoint,
    leaderElection: { ...leaderElection, identity: "second" },
    signal: stop.signal,
  });
  await h.store.create(PersistentVolumeClaims, plainClaim("one"));
  await h.until("it is bound", async () => (await boundCount(h)) === 1);
  assert.equal((await lease())?.spec?.holderIdentity, first);
  await h.stop();
  await h.until("the second leads", async () => (await lease())?.spec?.holderIdentity === "second");
  await h.store.create(PersistentVolumeClaims, plainClaim("two"));
  await h.until("it is bound", async () => (await boundCount(h)) === 2);
  assert.equal(h.driver.called("CreateVolume"), 2);
  await nothingSleeps();
  stop.abort();
  await second.done;
});

test("every call to the driver is measured by method and code", async (t) => {
  const calls: string[] = [];
  const onCall = ({ driver, method, code }: { driver: string; method: string; code: number }) =>
    void calls.push(`${driver} ${method} ${code}`);
  const h = await startHarness(t, { sidecars: { onCall } });
  h.driver.faults.add({ method: "CreateVolume", code: Code.ABORTED });
  await h.store.create(PersistentVolumeClaims, plainClaim("one"));
  await h.until("it is bound", async () => (await boundCount(h)) === 1);
  const created = calls.filter((call) => call.includes("CreateVolume"));
  assert.deepEqual(created, [
    `${DRIVER} /csi.v1.Controller/CreateVolume ${Code.ABORTED}`,
    `${DRIVER} /csi.v1.Controller/CreateVolume 0`,
  ]);
});

test("what is in a secret is in no log, no event, no record and no object", async (t) => {
  covers("K8S-060", "CSI-041", "CSI-316");
  const lines: string[] = [];
  const note = (fields: object, message: string) =>
    void lines.push(
      message + JSON.stringify(fields, (_, value) => (value instanceof Error ? value.stack : value)),
    );
  const logger: Logger = { debug: note, info: note, warn: note, error: note, child: () => logger };
  const parameters = {
    "csi.storage.k8s.io/secret-name": "key",
    "csi.storage.k8s.io/secret-namespace": "infra",
  };
  const data = { password: Buffer.from("hunter2").toString("base64") };
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "key", namespace: "infra" }, data };
  const h = await startHarness(t, {
    sidecars: { logger },
    objects: [
      [StorageClasses, storageClass({ metadata: { name: "secret" }, parameters })],
      [Secrets, secret],
    ],
  });
  h.driver.faults.add({ method: "CreateVolume", code: Code.UNAVAILABLE, times: Number.POSITIVE_INFINITY });
  await h.store.create(PersistentVolumeClaims, plainClaim("one", { storageClassName: "secret" }));
  await h.until("a record", async () => {
    const { items } = await h.store.list(ConfigMaps);
    lines.push(JSON.stringify(items));
    return items.length > 0;
  });
  h.driver.faults.clear();
  await h.until("it is bound", async () => (await boundCount(h)) === 1);
  const kinds: Resource[] = [PersistentVolumes, PersistentVolumeClaims, Events];
  for (const kind of kinds) lines.push(JSON.stringify((await h.store.list(kind)).items));
  assert.ok(lines.length > 5);
  assert.doesNotMatch(lines.join("\n"), /hunter2|aHVudGVyMg/);
});

test("a cluster without the snapshot kinds has volumes all the same", async (t) => {
  const h = await startHarness(t, { without: [VolumeSnapshots] });
  await h.store.create(PersistentVolumeClaims, plainClaim("one"));
  await h.until("it is bound", async () => (await boundCount(h)) === 1);
  const dataSource = { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: "snap" };
  await h.store.create(PersistentVolumeClaims, plainClaim("two", { dataSource }));
  await h.until("it is reported", async () => {
    const { items } = await h.store.list(Events);
    return items.some(({ message }) => message === "waiting: snapshot snap does not exist");
  });
});

test("a missing namespace for records is reported on the claim, and nothing is made before it is there", async (t) => {
  const h = await startHarness(t);
  const create = h.store.create.bind(h.store);
  let there = false;
  h.store.create = async (resource, object, options) => {
    if (!there && resource.plural === "configmaps")
      await h.store.get(ConfigMaps, { name: "x", namespace: "kube-system" });
    return create(resource, object, options);
  };
  await h.store.create(PersistentVolumeClaims, plainClaim("one"));
  await h.until("it is reported", async () =>
    (await h.store.list(Events)).items.some(({ reason }) => reason === "ProvisioningFailed"),
  );
  assert.equal(h.driver.called("CreateVolume"), 0);
  there = true;
  await h.until("it is bound", async () => (await boundCount(h)) === 1);
});

test("a node id is also taken from the node's annotation", async (t) => {
  covers("K8S-020");
  const annotations = { "csi.volume.kubernetes.io/nodeid": JSON.stringify({ [DRIVER]: "old-style" }) };
  const h = await startHarness(t, {
    objects: [[Nodes, { ...node("n1"), metadata: { name: "n1", annotations } }]],
  });
  const { id } = h.driver.backend.createVolume({ name: "v", bytes: 1n, fingerprint: "", topology: [] });
  const { metadata, ...volume } = persistentVolume("pv", { csi: { driver: DRIVER, volumeHandle: id } });
  await h.store.create(PersistentVolumes, { ...volume, metadata: { name: metadata.name } });
  const spec = { attacher: DRIVER, nodeName: "n1", source: { persistentVolumeName: "pv" } };
  const attachment = {
    apiVersion: "storage.k8s.io/v1",
    kind: "VolumeAttachment",
    metadata: { name: "a" },
    spec,
  };
  await h.store.create(KubeVolumeAttachments, attachment);
  await h.until("it is attached", async () => (await h.find(KubeVolumeAttachments, "a"))?.status?.attached);
  assert.deepEqual([...h.driver.backend.volume(id).publishedTo], ["old-style"]);
  assert.equal(await h.find(CSINodes, "n1"), undefined);
});

test("others may write to every object all the time: nothing of theirs is lost, and the work gets done", async (t) => {
  const h = await startHarness(t);
  const stop = new AbortController();
  t.after(() => stop.abort());
  let written = 0;
  const storm = (async () => {
    while (!stop.signal.aborted) {
      for (const kind of [PersistentVolumeClaims, PersistentVolumes])
        for (const { metadata } of (await h.store.list(kind)).items) {
          const { name, namespace } = metadata;
          const key = namespace === undefined ? { name } : { name, namespace };
          const body = { metadata: { annotations: { "example.com/storm": String(written) } } };
          written += 1;
          await h.store.patch(kind as typeof PersistentVolumes, key, { type: "merge", body }).catch(() => {});
        }
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  })();
  for (let i = 0; i < 10; i += 1) await h.store.create(PersistentVolumeClaims, plainClaim(`c${i}`));
  await h.until("all are bound", async () => (await boundCount(h)) === 10);
  const claims = await h.until("their annotation is on every claim", async () => {
    const { items } = await h.store.list(PersistentVolumeClaims);
    return items.every(({ metadata }) => metadata.annotations?.["example.com/storm"] !== undefined) && items;
  });
  for (const { metadata } of claims)
    await h.store.delete(PersistentVolumeClaims, { name: metadata.name, namespace: "default" });
  await h.until("all is gone", async () => (await h.store.list(PersistentVolumes)).items.length === 0);
  stop.abort();
  await storm;
  const reported = (await h.store.list(Events)).items.filter(({ type }) => type === "Warning");
  assert.deepEqual(
    reported.map(({ message }) => message),
    [],
  );
  assert.equal(h.driver.called("CreateVolume"), 10);
  assert.equal(h.driver.backend.volumes.size, 0);
});

const MANY = howMany({ everyday: 20, full: 200 });

test(`${MANY} claims at once: one call, one object each, and all of them go again`, async (t) => {
  const h = await startHarness(t);
  const names = Array.from({ length: MANY }, (_, i) => `c${i}`);
  await Promise.all(names.map((name) => h.store.create(PersistentVolumeClaims, plainClaim(name))));
  await until("all are bound", async () => (await boundCount(h)) === MANY);
  await Promise.all(
    names.map((name) => h.store.delete(PersistentVolumeClaims, { name, namespace: "default" })),
  );
  await until("all is gone", async () => {
    const lists = await Promise.all([h.store.list(PersistentVolumes), h.store.list(ConfigMaps)]);
    return lists.every(({ items }) => items.length === 0);
  });
  assert.equal(h.driver.called("CreateVolume"), MANY);
  assert.equal(h.driver.called("DeleteVolume"), MANY);
  assert.equal(h.driver.backend.volumes.size, 0);
});
