import assert from "node:assert/strict";
import { test } from "node:test";
import { acquireLease, Leases, PersistentVolumeClaims } from "@mooring/store";
import { sidecarLeases } from "./sidecar-leases.ts";
import { startSidecars } from "./start.ts";
import { type Harness, startHarness } from "./testing/harness.ts";
import { claim, DRIVER } from "./testing/objects.ts";

const THEIRS = {
  provisioner: "test-csi-example-com",
  attacher: "external-attacher-leader-test-csi-example-com",
  resizer: "external-resizer-test-csi-example-com",
  snapshotter: "external-snapshotter-leader-test-csi-example-com",
  monitor: "external-health-monitor-leader-test-csi-example-com",
};
const namespace = "kube-system";
const leaderElection = { retryMs: 20, durationMs: 60_000, renewDeadlineMs: 30_000 };
const CONTROLLERS = ["provision", "attach", "resize"] as const;

async function holderOf(h: Harness, name: string): Promise<string> {
  return (await h.find(Leases, name, namespace))?.spec?.holderIdentity ?? "";
}

const isBound = async (h: Harness, name: string) =>
  (await h.find(PersistentVolumeClaims, name, "default"))?.status?.phase === "Bound";

test("each part has the lease of the sidecar that it takes the place of", () => {
  assert.deepEqual(sidecarLeases(DRIVER, ["provision", "capacity", "csi-driver"]), [THEIRS.provisioner]);
  assert.deepEqual(sidecarLeases(DRIVER, ["modify", "attach"]), [THEIRS.attacher, THEIRS.resizer]);
  assert.deepEqual(sidecarLeases(DRIVER, ["snapshot", "health"]), [THEIRS.snapshotter, THEIRS.monitor]);
  assert.deepEqual(sidecarLeases(DRIVER, ["snapshot-content", "group-snapshot"]), [THEIRS.snapshotter]);
  assert.deepEqual(sidecarLeases("example.com/driver-", ["provision"]), ["example-com-driver-x"]);
});

test("no part works while a sidecar that it takes the place of leads, and none of these while it works", async (t) => {
  const h = await startHarness(t);
  await h.stop();
  const attacher = new AbortController();
  t.after(() => attacher.abort());
  const election = { ...leaderElection, namespace, name: THEIRS.attacher, identity: "csi-attacher" };
  const held = await acquireLease(h.store, election, attacher.signal);

  const stop = new AbortController();
  t.after(() => stop.abort());
  const { done } = await startSidecars({
    ...{ store: h.store, endpoint: h.driver.endpoint, signal: stop.signal },
    leaderElection: { ...leaderElection, labels: { team: "storage" } },
    controllers: [...CONTROLLERS],
  });
  await h.store.create(PersistentVolumeClaims, claim("one"));
  await h.until("it is the provisioner", async () => (await holderOf(h, THEIRS.provisioner)) !== "");
  assert.equal(await holderOf(h, THEIRS.attacher), "csi-attacher");
  assert.equal(h.driver.called("CreateVolume"), 0, "it works while a sidecar leads");

  await held.release();
  await h.until("it is bound", () => isBound(h, "one"));
  assert.equal(await holderOf(h, THEIRS.attacher), "mooring-sidecars-test-csi-example-com");
  assert.equal(await holderOf(h, THEIRS.resizer), "mooring-sidecars-test-csi-example-com");
  const { metadata } = await h.store.get(Leases, { name: THEIRS.resizer, namespace });
  assert.deepEqual(metadata.labels, { team: "storage" });
  assert.equal(await holderOf(h, THEIRS.snapshotter), "", "its part was not asked for");
  stop.abort();
  await done;
  for (const name of [THEIRS.provisioner, THEIRS.attacher, THEIRS.resizer])
    assert.equal(await holderOf(h, name), "", `${name} is not given back`);
});

test("who leads next has the leases of the sidecars at once, also when the one before was killed", async (t) => {
  const h = await startHarness(t);
  await h.stop();
  const stop = new AbortController();
  t.after(() => stop.abort());
  // As a process leaves them that was killed a moment ago, and its own lease has ended since.
  const spec = { holderIdentity: "mooring-sidecars-test-csi-example-com", leaseDurationSeconds: 3_600 };
  for (const name of [THEIRS.provisioner, THEIRS.attacher, THEIRS.resizer])
    await h.store.create(Leases, {
      ...{ apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name, namespace } },
      spec: { ...spec, renewTime: new Date().toISOString().replace("Z", "000Z") },
    });
  const { done } = await startSidecars({
    ...{ store: h.store, endpoint: h.driver.endpoint, signal: stop.signal, leaderElection },
    controllers: [...CONTROLLERS],
  });
  await h.store.create(PersistentVolumeClaims, claim("one"));
  await h.until("it is bound", () => isBound(h, "one"));
  stop.abort();
  await done;
});
