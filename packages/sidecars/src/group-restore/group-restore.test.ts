import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Code } from "@mooring/csi";
import {
  Events,
  type Logger,
  Nodes,
  PersistentVolumeClaims,
  StatusError,
  StorageClasses,
  VolumeGroupSnapshots,
  VolumeSnapshots,
} from "@mooring/store";
import { thorough } from "@mooring/store/testing";
import { RESTORE_LABEL, type VolumeGroupRestore, VolumeGroupRestores } from "../kube/group-restore.ts";
import { type Harness, startHarness } from "../testing/harness.ts";
import { claim, storageClass } from "../testing/objects.ts";
import { groupRestore, groupSnapshot, handleOf, put, putGroup } from "./testing/group.ts";

const SOURCES = ["data", "wal"];
const at = (name: string) => ({ namespace: "default", name });

/** The snapshots are made by hand; only claims are made and filled. */
async function start(t: TestContext): Promise<Harness> {
  const h = await startHarness(t, { sidecars: { controllers: ["provision", "group-restore"] } });
  for (const name of SOURCES) {
    const source = claim(name);
    await put(h.store, PersistentVolumeClaims, source);
    const snapshot = { id: handleOf(name), name, volumeId: name, bytes: 1024n ** 3n, pendingPolls: 0 };
    h.driver.backend.snapshots.set(snapshot.id, snapshot);
  }
  return h;
}

const restored = (h: Harness, accept: (restore: VolumeGroupRestore) => boolean, name = "again") =>
  h.until(
    `restore ${name}`,
    async () => {
      const found = await h.store.get(VolumeGroupRestores, at(name));
      return accept(found) && found;
    },
    () => h.store.get(VolumeGroupRestores, at(name)),
  );
const isTrue = (type: string) => (restore: VolumeGroupRestore) =>
  restore.status?.conditions?.some((each) => each.type === type && each.status === "True") ?? false;
const claimsOf = async (h: Harness, name = "again") => {
  const { items } = await h.store.list(PersistentVolumeClaims, { labelSelector: `${RESTORE_LABEL}=${name}` });
  return items.map(({ metadata }) => metadata.name).sort();
};

test("a restore waits for its group snapshot, fills a claim per member, and is ready when all are bound", async (t) => {
  const h = await start(t);
  await put(h.store, VolumeGroupRestores, groupRestore());
  await restored(h, isTrue("Failed"));
  await putGroup(h.store, SOURCES);
  const { status } = await restored(h, isTrue("Ready"));
  assert.deepEqual(status?.claims, { total: 2, created: 2, bound: 2 });
  assert.deepEqual(await claimsOf(h), ["data-again", "wal-again"]);
  const filled = [...h.driver.backend.volumes.values()].filter(({ fingerprint }) =>
    SOURCES.some((name) => fingerprint.includes(handleOf(name))),
  );
  assert.equal(filled.length, 2, "each from its own snapshot");
  for (const reason of ["GroupSnapshotMissing", "RestoreRestoring", "RestoreReady"])
    await h.until(`the event ${reason}`, async () => {
      const { items } = await h.store.list(Events);
      return items.some((event) => event.involvedObject.name === "again" && event.reason === reason);
    });
});

test("restored claims survive the deletion of the restore and of the group snapshot", async (t) => {
  const h = await start(t);
  await putGroup(h.store, SOURCES);
  await put(h.store, VolumeGroupRestores, groupRestore());
  await restored(h, isTrue("Ready"));
  await h.store.delete(VolumeGroupRestores, at("again"));
  await h.store.delete(VolumeGroupSnapshots, at("g"));
  const claims = await Promise.all(
    ["data-again", "wal-again"].map((name) => h.store.get(PersistentVolumeClaims, at(name))),
  );
  for (const { metadata, status } of claims) {
    assert.equal(metadata.ownerReferences, undefined);
    assert.equal(metadata.deletionTimestamp, undefined);
    assert.equal(status?.phase, "Bound");
  }
});

test("a foreign claim of the same name stops the restore before it begins, and lets it go on when it goes", async (t) => {
  const h = await start(t);
  await putGroup(h.store, SOURCES);
  await put(h.store, PersistentVolumeClaims, claim("wal-again"));
  await put(h.store, VolumeGroupRestores, groupRestore());
  const { status } = await restored(h, isTrue("Failed"));
  assert.match(status?.message ?? "", /claim wal-again exists and is not of this restore/);
  assert.deepEqual(await claimsOf(h), [], "not half a restore");
  await h.store.delete(PersistentVolumeClaims, at("wal-again"));
  await restored(h, isTrue("Ready"));
});

test("with WaitForFirstConsumer it is complete when the claims are there, and ready when they are used", async (t) => {
  const h = await start(t);
  await h.store.create(
    StorageClasses,
    storageClass({ metadata: { name: "late" }, volumeBindingMode: "WaitForFirstConsumer" }),
  );
  await putGroup(h.store, SOURCES);
  await put(h.store, VolumeGroupRestores, groupRestore({ defaults: { storageClassName: "late" } }));
  const complete = await restored(h, isTrue("Complete"));
  assert.ok(!isTrue("Ready")(complete));
  assert.deepEqual(
    complete.status?.members?.map(({ phase }) => phase),
    ["WaitForFirstConsumer", "WaitForFirstConsumer"],
  );
  const body = { metadata: { annotations: { "volume.kubernetes.io/selected-node": "n1" } } };
  await h.store.create(Nodes, { apiVersion: "v1", kind: "Node", metadata: { name: "n1" } });
  for (const name of ["data-again", "wal-again"])
    await h.store.patch(PersistentVolumeClaims, at(name), { type: "merge", body });
  await restored(h, isTrue("Ready"));
});

test("a claim that the cluster refuses is reported, and tried again until it is taken", async (t) => {
  const h = await start(t);
  let full = true;
  const create = h.store.create.bind(h.store);
  h.store.create = (resource, object, options) => {
    if (full && object.metadata.name === "wal-again")
      throw new StatusError("Forbidden", "exceeded quota: small");
    return create(resource, object, options);
  };
  await putGroup(h.store, SOURCES);
  await put(h.store, VolumeGroupRestores, groupRestore());
  const { status } = await restored(h, isTrue("Failed"));
  assert.equal(status?.message, "wal-again: exceeded quota: small");
  full = false;
  await restored(h, isTrue("Ready"));
});

test("a member whose volume cannot be made reports why, member and restore, and is ready when it can", async (t) => {
  const h = await start(t);
  h.driver.faults.add({
    method: "CreateVolume",
    code: Code.RESOURCE_EXHAUSTED,
    message: "the array is full",
    times: Number.POSITIVE_INFINITY,
  });
  await putGroup(h.store, SOURCES);
  await put(h.store, VolumeGroupRestores, groupRestore());
  const why = /has no volume yet: .*the array is full/;
  const { status } = await restored(
    h,
    ({ status: now }) => now?.members?.every(({ message }) => why.test(message)) ?? false,
  );
  assert.equal(status?.phase, "Restoring", "it goes on by itself");
  assert.match(
    status?.message ?? "",
    /^0 of 2 claims are bound; data-again has no volume yet: .*the array is full/,
  );
  h.driver.faults.clear();
  const ready = await restored(h, isTrue("Ready"));
  assert.equal(ready.status?.message, "2 of 2 claims are bound");
});

test("a restore that is deleted while it makes its claims leaves those that are there, as data, and delays no other", async (t) => {
  const h = await start(t);
  await putGroup(h.store, SOURCES);
  const create = h.store.create.bind(h.store);
  let gone = false;
  h.store.create = async (resource, object, options) => {
    const made = await create(resource, object, options);
    // Deleted right after its first claim was made.
    if (!gone && object.metadata.labels?.[RESTORE_LABEL] === "again") {
      gone = true;
      await h.store.delete(VolumeGroupRestores, at("again"));
    }
    return made;
  };
  await put(h.store, VolumeGroupRestores, groupRestore());
  await h.until("the claim that was made is bound", async () => {
    const { items } = await h.store.list(PersistentVolumeClaims, { labelSelector: `${RESTORE_LABEL}=again` });
    return items.length > 0 && items.every(({ status }) => status?.phase === "Bound");
  });
  const spec = { claimNameTemplate: "{{claim}}-once-more" };
  await put(h.store, VolumeGroupRestores, groupRestore(spec, "later"));
  await restored(h, isTrue("Ready"), "later");
  const left = await claimsOf(h);
  assert.ok(left.includes("data-again"), left.join(", "));
  for (const name of left) {
    const { metadata } = await h.store.get(PersistentVolumeClaims, at(name));
    assert.deepEqual([metadata.ownerReferences, metadata.deletionTimestamp], [undefined, undefined]);
  }
});

test("two restores of one group snapshot do not meet", async (t) => {
  const h = await start(t);
  await putGroup(h.store, SOURCES);
  await put(h.store, VolumeGroupRestores, groupRestore({}, "one"));
  await put(h.store, VolumeGroupRestores, groupRestore({}, "two"));
  await restored(h, isTrue("Ready"), "one");
  await restored(h, isTrue("Ready"), "two");
  assert.deepEqual(await claimsOf(h, "one"), ["data-one", "wal-one"]);
  assert.deepEqual(await claimsOf(h, "two"), ["data-two", "wal-two"]);
});

test("a member that is deleted in between fails the restore, and names what is missing", async (t) => {
  const h = await start(t);
  await putGroup(h.store, SOURCES);
  await h.store.delete(VolumeSnapshots, at("member-wal"));
  await put(h.store, VolumeGroupRestores, groupRestore());
  const { status } = await restored(h, isTrue("Failed"));
  assert.match(status?.message ?? "", /1 of 2 snapshots .*handle-wal/);
  const waiting = groupSnapshot({ readyToUse: false });
  await put(h.store, VolumeGroupSnapshots, waiting);
  await restored(h, ({ status: now }) => now?.phase === "Waiting");
});

test("a group of 100 members, the most there can be, is restored at one go", thorough(), async (t) => {
  const failures: string[] = [];
  const logger: Logger = {
    debug: () => {},
    info: () => {},
    warn: (_fields, message) => failures.push(message),
    error: (_fields, message) => failures.push(message),
    child: () => logger,
  };
  const sidecars = { controllers: ["provision", "group-restore"] as const, logger };
  const h = await startHarness(t, { sidecars });
  const sources = Array.from({ length: 100 }, (_, index) => `claim-${index}`);
  for (const name of sources) {
    const snapshot = { id: handleOf(name), name, volumeId: name, bytes: 1024n ** 3n, pendingPolls: 0 };
    h.driver.backend.snapshots.set(snapshot.id, snapshot);
  }
  await putGroup(h.store, sources);
  failures.length = 0;
  await put(h.store, VolumeGroupRestores, groupRestore({ defaults: { storageClassName: "fast" } }));
  const { status } = await restored(h, isTrue("Ready"));
  assert.deepEqual(status?.claims, { total: 100, created: 100, bound: 100 });
  assert.deepEqual(failures, []);
});
