import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  addTicket,
  type CollectionResource,
  csiTicketId,
  type ErrorResource,
  Pools,
  removeTickets,
  type SnapshotResource,
  Snapshots,
  ticketStatus,
  VolumeAttachments,
  type VolumeResource,
} from "@mooring/engine";
import { KubeVolumeAttachments, mutate, PersistentVolumes } from "@mooring/store";
import { covers } from "@mooring/store/testing";
import { startVolumeServer, type VolumeServer } from "../testing/volumes.ts";

let server: VolumeServer;
before(async () => {
  server = await startVolumeServer();
});
after(() => server.stop());

/** Expects a refusal, unless `T` is something else. */
const act = <T = ErrorResource>(action: string, body: unknown, name = "v-1") =>
  server.http.post<T>(`/v1/volumes/${name}?action=${action}`, body);
const tickets = async (name = "v-1") =>
  Object.values((await server.store.get(VolumeAttachments, { name })).spec.attachmentTickets ?? {});
const satisfied = (id: string, name = "v-1") =>
  server.until((a) => a !== undefined && ticketStatus(a, id)?.satisfied === true, name);

describe("attach and detach by an operator", () => {
  test("attach is a longhorn-api ticket, and the volume shows when it is satisfied", async () => {
    const response = await act<VolumeResource>("attach", { hostId: "a", attachedBy: "ann" });
    assert.equal(response.status, 200);
    assert.deepEqual(Object.keys(response.json.volumeAttachment.attachments), ["longhorn-ui"]);
    await satisfied("longhorn-ui");
    const { json } = await server.http.get<VolumeResource>("/v1/volumes/v-1");
    const [attachment] = Object.values(json.volumeAttachment.attachments);
    assert.deepEqual(
      [attachment?.attachmentID, attachment?.attachmentType, attachment?.nodeID, attachment?.satisfied],
      ["longhorn-ui", "longhorn-api", "a", true],
    );
    assert.deepEqual([json.id, json.state, json.size], ["v-1", "attached", "4096"]);
    assert.deepEqual(json.controllers, [{ hostId: "a", endpoint: "/dev/loop0", running: true }]);
    assert.match(
      json.actions["detach"] ?? "",
      /^https:\/\/127\.0\.0\.1:\d+\/v1\/volumes\/v-1\?action=detach$/,
    );
    const all = await server.http.get<CollectionResource<VolumeResource>>("/v1/volumes");
    assert.deepEqual([all.json.type, all.json.data[0]?.id], ["collection", "v-1"]);
  });

  test("the same attach again changes nothing, a later expiry only that", async () => {
    const [before] = await tickets();
    assert.equal((await act("attach", { hostId: "a", attachedBy: "ann" })).status, 200);
    assert.deepEqual(await tickets(), [before]);
    const expiresAt = "2099-01-01T00:00:00.000Z";
    assert.equal((await act("attach", { hostId: "a", attachedBy: "ann", expiresAt })).status, 200);
    assert.equal((await tickets())[0]?.expiresAt, expiresAt);
  });

  test("of two operators with the same id the first has it, and the second learns who", async () => {
    const driver = await act("attach", { hostId: "a", attachedBy: "csi" });
    assert.equal(driver.status, 400);
    assert.match(driver.json.message, /"?csi"? names the CSI driver, not an operator/);
    const second = await act("attach", { hostId: "a", attachedBy: "bob" });
    assert.equal(second.status, 409);
    assert.match(second.json.message, /held by ann until 2099/);
    assert.equal(second.json.blockedBy?.[0]?.attachmentID, "longhorn-ui");
    const wrong = await act("detach", { attachedBy: "bob" });
    assert.deepEqual([wrong.status, wrong.json.blockedBy?.[0]?.attachmentID], [409, "longhorn-ui"]);
    assert.match(wrong.json.message, /held by ann, not by bob/);
    assert.match((await act("detach", {})).json.message, /held by ann, not by mooring-admin/);
    const elsewhere = await act("attach", { hostId: "b", attachedBy: "bob", attachmentID: "bob" });
    assert.match(
      elsewhere.json.message,
      /wanted otherwise: ticket "longhorn-ui" \(longhorn-api\) of ann on node "a"/,
    );
    assert.equal((await tickets()).length, 1);
    const race = await Promise.all(
      ["c", "d", "e", "f"].map((attachedBy) =>
        act("attach", { hostId: "a", attachedBy, attachmentID: "race" }),
      ),
    );
    assert.deepEqual(race.map(({ status }) => status).sort(), [200, 409, 409, 409]);
    const [winner] = (await tickets()).filter(({ id }) => id === "race");
    const attachedBy = winner?.parameters?.lastAttachedBy;
    assert.equal((await act("detach", { attachmentID: "race", attachedBy: "ann" })).status, 409);
    assert.equal((await act("detach", { attachmentID: "race", attachedBy })).status, 200);
  });

  test("a forced detach ends the one ticket that it names, whoever has it", async () => {
    assert.equal((await act("attach", { hostId: "a", attachedBy: "bob", attachmentID: "bob" })).status, 200);
    assert.equal((await act("detach", { attachmentID: "bob", forceDetach: true })).status, 200);
    assert.deepEqual(
      (await tickets()).map(({ id }) => id),
      ["longhorn-ui"],
    );
  });

  test("detach ends the ticket and the volume is detached; again it is detached already", async () => {
    assert.equal((await act("detach", { attachmentID: "longhorn-ui", attachedBy: "ann" })).status, 200);
    const { spec } = await server.volume((v) => v.status?.state === "detached");
    assert.equal(spec.nodeID, "");
    assert.equal((await act("detach", undefined)).status, 200);
    assert.equal((await act("detach", {})).status, 200);
  });

  test("for maintenance the volume has no front end", async () => {
    covers("LHA-024");
    await act("attach", { hostId: "a", disableFrontend: true });
    await satisfied("longhorn-ui");
    const { json } = await server.http.get<VolumeResource>("/v1/volumes/v-1");
    assert.deepEqual([json.disableFrontend, json.lastAttachedBy], [true, "mooring-admin"]);
    await act("detach", {});
    await server.volume((v) => v.status?.state === "detached");
  });

  test("a ticket with a time ends by itself", async () => {
    const expiresAt = new Date(Date.now() + 4000).toISOString();
    assert.equal((await act("attach", { hostId: "a", expiresAt })).status, 200);
    await server.until((a) => Object.keys(a?.spec.attachmentTickets ?? {}).length === 0);
    await server.volume((v) => v.spec.nodeID === "");
  });

  test("in the queue a ticket waits for its turn", async () => {
    await act("attach", { hostId: "a", attachmentID: "first" });
    await satisfied("first");
    assert.equal((await act("attach", { hostId: "b", attachmentID: "second", queue: true })).status, 200);
    await server.until((a) =>
      /held on node "a" by ticket "first"/.test(
        a?.status?.attachmentTicketStatuses?.second?.conditions[0]?.message ?? "",
      ),
    );
    await act("detach", { attachmentID: "first" });
    await satisfied("second");
    await act("detach", { attachmentID: "second" });
    await server.volume((v) => v.status?.state === "detached");
  });
});

describe("tickets of others", () => {
  const csi = csiTicketId("v-1", "a");
  /** A Pod on node a, as Kubernetes and the driver have it. */
  const podOnA = async () => {
    const { store } = server;
    const at = { apiVersion: "storage.k8s.io/v1", kind: "VolumeAttachment" };
    const csiSource = { driver: "csi.mooring.dev", volumeHandle: "v-1" };
    const accessModes: ["ReadWriteOnce"] = ["ReadWriteOnce"];
    const spec = { csi: csiSource, accessModes, capacity: { storage: "4Ki" } };
    await store.create(PersistentVolumes, {
      apiVersion: "v1",
      kind: "PersistentVolume",
      metadata: { name: "pv" },
      spec,
    });
    const source = { persistentVolumeName: "pv" };
    const made = await store.create(KubeVolumeAttachments, {
      ...at,
      metadata: { name: csi },
      spec: { attacher: "csi.mooring.dev", nodeName: "a", source },
    });
    await store.updateStatus(KubeVolumeAttachments, { ...made, status: { attached: true } });
    await satisfied(csi);
  };

  test("an operator cannot end them, and learns with what they end; force asks Kubernetes to detach", async () => {
    await podOnA();
    const refused = await act("detach", { attachmentID: csi });
    assert.equal(refused.status, 403);
    assert.match(refused.json.message, /belongs to csi-attacher and ends with VolumeAttachment "csi-/);
    assert.equal((await act("attach", { hostId: "a", attachmentID: csi })).status, 403);
    const owner = { apiVersion: "storage.mooring.dev/v1alpha1", kind: "Volume", name: "v-1" };
    const restore = { id: "r", type: "volume-restore-controller" as const, nodeID: "a", owner };
    await addTicket(server.store, "v-1", restore, { now: new Date() });
    assert.equal((await act("detach", { forceDetach: true })).status, 200);
    await assert.rejects(server.store.get(KubeVolumeAttachments, { name: csi }), /not found/);
    assert.deepEqual(
      (await tickets()).map(({ id }) => id),
      ["r"],
    );
    assert.equal((await act("detach", { forceDetach: true, scope: "all" })).status, 200);
    assert.deepEqual(await tickets(), []);
    await server.volume((v) => v.status?.state === "detached");
  });

  test("4710, 2420: a shared volume that workloads use is not attached beside them", async () => {
    for (const accessMode of ["rwx", "rox"]) {
      const name = `v-${accessMode}`;
      await server.createVolume(name, accessMode);
      const owner = { apiVersion: "storage.mooring.dev/v1alpha1", kind: "Volume", name };
      await addTicket(
        server.store,
        name,
        { id: "w", type: "csi-attacher", nodeID: "a", owner },
        { now: new Date() },
      );
      const refused = await act("attach", { hostId: "a" }, name);
      assert.equal(refused.status, 409);
      assert.match(refused.json.message, /is shared by workloads: ticket "w"/);
      await removeTickets(server.store, name, () => true);
    }
  });
});

describe("snapshots by REST", () => {
  covers("LHA-062");
  test("create, list, get and delete work on Snapshot objects", async () => {
    const made = await act<SnapshotResource>("snapshotCRCreate", {
      name: "monday",
      labels: { why: "upgrade" },
    });
    assert.equal(made.status, 200);
    assert.deepEqual(
      [made.json.name, made.json.volume, made.json.userCreated, made.json.readyToUse, made.json.labels],
      ["monday", "v-1", true, false, { why: "upgrade" }],
    );
    const object = await server.store.get(Snapshots, { name: "s-monday" });
    assert.deepEqual([object.spec.volume, object.spec.pool], ["v-1", "p"]);
    const status = {
      readyToUse: true,
      creationTime: "2026-01-01T00:00:00.000Z",
      restoreSize: 4096,
      ownerID: "a",
    };
    await server.store.updateStatus(Snapshots, { ...object, status });
    const got = await act<SnapshotResource>("snapshotCRGet", { name: "monday" });
    assert.deepEqual([got.json.readyToUse, got.json.restoreSize, got.json.ownerID], [true, 4096, "a"]);
    assert.equal((await act("snapshotCRCreate", { name: "monday", labels: { why: "upgrade" } })).status, 200);
    assert.equal((await act("snapshotCRCreate", { name: "monday" })).status, 409);
    assert.match((await act<SnapshotResource>("snapshotCRCreate", {})).json.name, /^snap-[0-9a-f]{8}$/);
    const list = await act<CollectionResource<SnapshotResource>>("snapshotCRList", undefined);
    assert.deepEqual([list.json.type, list.json.data.length], ["collection", 2]);
    for (const { name } of list.json.data)
      assert.equal((await act("snapshotCRDelete", { name })).status, 200);
    assert.equal((await act("snapshotCRDelete", { name: "monday" })).status, 200);
    assert.equal((await act("snapshotCRGet", { name: "monday" })).status, 404);
    const none = await act<CollectionResource<SnapshotResource>>("snapshotCRList", {});
    assert.deepEqual(none.json.data, []);
  });

  test("a snapshot of CSI belongs to its VolumeSnapshot, one of another volume to that", async () => {
    await server.createVolume("v-other");
    await server.store.create(Snapshots, {
      apiVersion: "storage.mooring.dev/v1alpha1",
      kind: "Snapshot",
      metadata: { name: "s-csi" },
      spec: { volume: "v-1", pool: "p", request: { name: "snapshot-1", parameters: {} } },
    });
    const refused = await act("snapshotCRDelete", { name: "s-csi" });
    assert.deepEqual(
      [refused.status, refused.json.detail],
      [409, "Delete the VolumeSnapshot that it belongs to."],
    );
    assert.equal((await act("snapshotCRGet", { name: "s-csi" }, "v-other")).status, 409);
    assert.equal((await act("snapshotCRCreate", { name: "s-csi" }, "v-other")).status, 409);
  });

  test("a node that cannot reach the data is refused with those that can", async () => {
    const metadata = { name: "local" };
    const spec = { type: "directory" as const, nodeID: "b", path: "/p" };
    await server.store.create(Pools, {
      apiVersion: "storage.mooring.dev/v1alpha1",
      kind: "Pool",
      metadata,
      spec,
    });
    await server.createVolume("v-local", "rwo", "local");
    const response = await act("attach", { hostId: "a" }, "v-local");
    assert.equal(response.status, 409);
    assert.match(response.json.message, /can be reached from node "b", not from "a"/);
  });

  test("a faulted volume is neither attached nor snapshotted", async () => {
    await server.createVolume("v-bad");
    const error = { code: "DATA_LOSS", message: "the image is gone" };
    await mutate(
      server.store,
      (await import("@mooring/engine")).Volumes,
      { name: "v-bad" },
      {
        change: (v) => ({
          ...v,
          status: { state: "detached" as const, robustness: "faulted" as const, error },
        }),
        subresource: "status",
      },
    );
    const attach = await act("attach", { hostId: "a" }, "v-bad");
    assert.deepEqual(
      [attach.status, attach.json.message],
      [409, 'volume "v-bad" is faulted: the image is gone'],
    );
    assert.equal((await act("snapshotCRCreate", {}, "v-bad")).status, 409);
  });
});

describe("bad input by REST", () => {
  const cases: [string, string, unknown, number, RegExp][] = [
    ["an unknown action", "explode", {}, 404, /no action "explode"/],
    ["no node", "attach", {}, 400, /hostId has to name a node/],
    ["a node that is no string", "attach", { hostId: 7 }, 400, /hostId has to be a string/],
    ["an unknown node", "attach", { hostId: "mars" }, 404, /node "mars" does not exist/],
    ["a path as node", "attach", { hostId: "../a" }, 400, /node id "\.\.\/a" is not valid/],
    [
      "a path as ticket id",
      "attach",
      { hostId: "a", attachmentID: "a/b" },
      400,
      /ticket id "a\/b" is not valid/,
    ],
    [
      "a controller's type",
      "attach",
      { hostId: "a", attacherType: "backup-controller" },
      403,
      /not written by operators/,
    ],
    ["an unknown type", "attach", { hostId: "a", attacherType: "x" }, 403, /not written by operators/],
    ["a holder of two lines", "attach", { hostId: "a", attachedBy: "a\nb" }, 400, /in one line/],
    [
      "an end in the past",
      "attach",
      { hostId: "a", expiresAt: "2020-01-01T00:00:00Z" },
      400,
      /is over already/,
    ],
    ["an end that is no time", "attach", { hostId: "a", expiresAt: "soon" }, 400, /a time like/],
    ["a flag that is no flag", "attach", { hostId: "a", disableFrontend: "true" }, 400, /true or false/],
    ["a body that is no object", "attach", ["a"], 400, /a JSON object/],
    ["a caller of two lines", "detach", { attachedBy: "a\nb" }, 400, /in one line/],
    ["an unknown scope", "detach", { forceDetach: true, scope: "world" }, 400, /scope has to be/],
    ["a snapshot name with dots", "snapshotCRCreate", { name: "../../etc" }, 400, /is not a snapshot name/],
    ["labels that are no strings", "snapshotCRCreate", { labels: { a: 1 } }, 400, /object of strings/],
    ["no snapshot name", "snapshotCRGet", {}, 400, /name has to name a snapshot/],
  ];
  for (const [what, action, body, status, message] of cases) {
    test(`${what}: ${status}`, async () => {
      const response = await act(action, body);
      assert.deepEqual([response.status, response.json.type], [status, "error"]);
      assert.match(response.json.message, message);
    });
  }

  test("a volume that is not there is 404 for every action", async () => {
    for (const action of [
      "attach",
      "detach",
      "snapshotCRCreate",
      "snapshotCRList",
      "snapshotCRGet",
      "snapshotCRDelete",
    ]) {
      const response = await act(action, { hostId: "a", name: "x" }, "v-none");
      assert.deepEqual([action, response.status], [action, 404]);
    }
    assert.equal((await server.http.get("/v1/volumes/v-none")).status, 404);
    for (const name of ["disks", "constructor", "toString"])
      assert.equal((await server.http.get(`/v1/${name}`)).status, 404, name);
    assert.equal((await server.http.delete("/v1/volumes/v-1")).status, 405);
  });

  test("without the token no request is served, and broken JSON is refused", async () => {
    const nobody = await server.http.send("/v1/volumes/v-1?action=attach", {
      method: "POST",
      body: { hostId: "a" },
      token: null,
    });
    assert.equal(nobody.status, 403);
    assert.equal((await server.http.send("/v1/volumes", { token: "wrong" })).status, 401);
    assert.equal((await server.http.post("/v1/volumes/v-1?action=attach", "{")).status, 400);
    assert.deepEqual(await tickets(), []);
  });
});
