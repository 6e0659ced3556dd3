import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  csiTicketId,
  ensureAttachment,
  Pools,
  Snapshots,
  TOPOLOGY_NODE_KEY,
  VolumeAttachments,
  Volumes,
} from "@mooring/engine";
import { mutate, waitFor } from "@mooring/store";
import { covers } from "@mooring/store/testing";
import { snapshotIdOf, volumeIdOf } from "../names.ts";
import { addSharedPool, type Cluster, startCluster } from "../testing/scripted-node.ts";
import { type CapabilityChoice, capability, codeOf, failureOf, MIB } from "../testing/world.ts";

describe("the controller service of a cluster", () => {
  let cluster: Cluster;
  before(async () => {
    cluster = await startCluster(["n1", "n2"]);
  });
  after(() => cluster.end());

  const create = (name: string, pool = "n1", choice: CapabilityChoice = {}, more: object = {}) =>
    cluster.client.controller.createVolume({
      name,
      capacityRange: { requiredBytes: 16n * MIB },
      volumeCapabilities: [capability(choice)],
      parameters: { pool },
      ...more,
    });
  const publish = (volumeId: string, nodeId: string, choice: CapabilityChoice = {}) =>
    cluster.client.controller.controllerPublishVolume({
      volumeId,
      nodeId,
      volumeCapability: capability(choice),
    });
  const remove = (volumeId: string) => cluster.client.controller.deleteVolume({ volumeId });

  test("publishing is a ticket, and its response the ticket's status", async () => {
    covers("CSI-142", "LHA-005", "LHA-007", "LHA-008", "LHA-040", "LHA-043");
    const id = (await create("ticket")).volume?.volumeId ?? "";
    await publish(id, "n1");
    const attachment = await cluster.store.get(VolumeAttachments, { name: id });
    const [ticket] = Object.values(attachment.spec.attachmentTickets ?? {});
    assert.equal(ticket?.id, csiTicketId(id, "n1"));
    assert.deepEqual([ticket?.type, ticket?.nodeID], ["csi-attacher", "n1"]);
    const status = attachment.status?.attachmentTicketStatuses?.[ticket?.id ?? ""];
    assert.deepEqual(
      [status?.id, status?.satisfied, status?.generation],
      [ticket?.id, true, ticket?.generation],
    );
    assert.equal(status?.conditions[0]?.type, "Satisfied");
    await cluster.client.controller.controllerUnpublishVolume({ volumeId: id, nodeId: "n1" });
    await remove(id);
  });

  test("growth: an error of earlier is not the response, a new one is, and so is one that stays", async () => {
    const id = (await create("grows")).volume?.volumeId ?? "";
    cluster.script.ignored.add(id);
    const put = (status: object) =>
      mutate(
        cluster.store,
        Volumes,
        { name: id },
        {
          change: (volume) => ({
            ...volume,
            status: { state: "detached" as const, ownerID: "n1", ...status },
          }),
          subresource: "status",
        },
      );
    const grow = (mib: bigint) =>
      cluster.client.controller.controllerExpandVolume({
        ...{ volumeId: id, capacityRange: { requiredBytes: mib * MIB, limitBytes: 0n } },
      });
    const wished = (bytes: number) =>
      waitFor(
        cluster.store,
        { resource: Volumes, key: { name: id } },
        (volume) => volume?.spec.size === bytes,
        AbortSignal.timeout(60_000),
      );
    const older = { code: "UNAVAILABLE", message: "the pool is not open" };
    const size = Number(16n * MIB);
    await put({ size, error: older });
    const grown = grow(32n);
    await wished(2 * size);
    await put({ size: 2 * size });
    assert.equal((await grown).capacityBytes, 32n * MIB);

    await put({ size: 2 * size, error: older });
    const refused = failureOf(grow(64n));
    await wished(4 * size);
    await put({ size: 2 * size, error: { code: "RESOURCE_EXHAUSTED", message: "no room on the disk" } });
    assert.deepEqual((await refused).code, "OUT_OF_RANGE");

    const stays = await failureOf(grow(64n));
    assert.deepEqual([stays.code, /no room on the disk/.test(stays.message)], ["OUT_OF_RANGE", true]);
    await put({ size: 4 * size });
    cluster.script.ignored.delete(id);
    await remove(id);
  });

  test("a snapshot is an object with the names of the call, and its status is the response", async () => {
    covers("LHA-050", "LHA-051");
    const id = (await create("source")).volume?.volumeId ?? "";
    const response = cluster.client.controller.createSnapshot({ name: "monday", sourceVolumeId: id });
    const key = { name: snapshotIdOf("monday") };
    const object = await waitFor(
      cluster.store,
      { resource: Snapshots, key },
      (snapshot) => snapshot !== undefined,
      AbortSignal.timeout(60_000),
    );
    assert.deepEqual([object?.spec.volume, object?.spec.request?.name], [id, "monday"]);
    const { snapshot } = await response;
    const { status } = await cluster.store.get(Snapshots, key);
    assert.deepEqual([snapshot?.snapshotId, snapshot?.readyToUse], [key.name, status?.readyToUse]);
    assert.equal(snapshot?.sizeBytes, BigInt(status?.restoreSize ?? 0));
    await cluster.client.controller.deleteSnapshot({ snapshotId: key.name });
    await remove(id);
  });

  test("an unpublish does not return while an attach that was taken back may have a device open", async () => {
    covers("LHA-026");
    const id = (await create("half-way")).volume?.volumeId ?? "";
    const unpublish = (timeoutMs: number) =>
      cluster.client.controller.controllerUnpublishVolume({ volumeId: id, nodeId: "n1" }, { timeoutMs });
    const found = (state: "attaching" | "detached") =>
      mutate(
        cluster.store,
        Volumes,
        { name: id },
        { change: (volume) => ({ ...volume, status: { ...volume.status, state } }), subresource: "status" },
      );
    cluster.script.ignored.add(id);
    await found("attaching");
    assert.notEqual(await codeOf(unpublish(300)), "OK");
    await found("detached");
    await unpublish(10_000);
    cluster.script.ignored.delete(id);
    await remove(id);
  });

  test("a volume that another node has, or cannot be reached from here, is FAILED_PRECONDITION and says where it is", async () => {
    covers("CSI-155");
    const id = (await create("elsewhere")).volume?.volumeId ?? "";
    const far = await failureOf(publish(id, "n2"));
    assert.equal(far.code, "FAILED_PRECONDITION");
    assert.match(far.message, /"n1"/);
    await ensureAttachment(cluster.store, id);
    await mutate(cluster.store, VolumeAttachments, { name: id }, (attachment) => {
      attachment.spec.attachmentTickets = { x: { id: "x", type: "csi-attacher", nodeID: "n2" } };
    });
    const refused = await failureOf(publish(id, "n1"));
    assert.equal(refused.code, "FAILED_PRECONDITION");
    assert.match(refused.message, /"n2"/);
    assert.equal(await codeOf(remove(id)), "FAILED_PRECONDITION");
    await cluster.client.controller.controllerUnpublishVolume({ volumeId: id, nodeId: "" });
    await remove(id);
  });

  test("modes for many nodes need a file system to serve: block volumes are refused, the others are reached from everywhere", async () => {
    covers("CSI-090", "CSI-092");
    for (const mode of [
      "MULTI_NODE_READER_ONLY",
      "MULTI_NODE_SINGLE_WRITER",
      "MULTI_NODE_MULTI_WRITER",
    ] as const) {
      const block = capability({ mode, access: "block" });
      const { code, message } = await failureOf(
        cluster.client.controller.createVolume({ name: "raw", volumeCapabilities: [block] }),
      );
      assert.equal(code, "INVALID_ARGUMENT");
      assert.match(message, new RegExp(`${mode} needs a file system`));
      const room = async (wanted: ReturnType<typeof capability>) =>
        (await cluster.client.controller.getCapacity({ volumeCapabilities: [wanted] })).availableCapacity;
      assert.equal(await room(block), 0n);
      assert.ok((await room(capability({ mode }))) > 0n);
      const { volume } = await create(`many ${mode}`, "n1", { mode });
      assert.deepEqual(volume?.accessibleTopology, []);
      await remove(volume?.volumeId ?? "");
    }
  });

  test("a volume of a shared pool is where it is asked for and on every other node that has the pool, or is not made", async () => {
    covers("CSI-108");
    await addSharedPool(cluster.store, "common", ["n1", "n2"]);
    const segments = (node: string) => ({ [TOPOLOGY_NODE_KEY]: node });
    const requisite = (node: string) => ({
      accessibilityRequirements: { requisite: [{ segments: segments(node) }] },
    });
    const { volume } = await create("on both", "common", {}, requisite("n1"));
    assert.deepEqual(
      volume?.accessibleTopology.map((topology) => ({ ...topology.segments })),
      [segments("n1"), segments("n2")],
    );
    assert.equal(await codeOf(create("on a third", "common", {}, requisite("n3"))), "RESOURCE_EXHAUSTED");
    await remove(volume?.volumeId ?? "");
    await cluster.store.delete(Pools, { name: "common" });
  });

  for (const code of ["RESOURCE_EXHAUSTED", "DATA_LOSS", "OUT_OF_RANGE"]) {
    test(`a volume that fails with ${code} passes it on and is taken away, so that its name may be tried elsewhere`, async () => {
      const id = volumeIdOf(`fails ${code}`);
      cluster.script.errors.set(id, { code, message: "the disk refuses" });
      const failure = await failureOf(create(`fails ${code}`));
      assert.equal(failure.code, code);
      assert.match(failure.message, /the disk refuses/);
      assert.equal(
        await codeOf(cluster.store.get(Volumes, { name: id })),
        `StatusError: volumes.storage.mooring.dev "${id}" not found`,
      );
      cluster.script.errors.delete(id);
      await create(`fails ${code}`, "n2");
      await remove(id);
    });
  }

  test("a snapshot that is not made is not listed; one that is being restored is not deleted", async () => {
    covers("CSI-233", "CSI-203", "CSI-229");
    const { controller } = cluster.client;
    const id = (await create("snapshots")).volume?.volumeId ?? "";
    const slow = snapshotIdOf("slow");
    cluster.script.ignored.add(slow);
    const waiting = controller.createSnapshot({ name: "slow", sourceVolumeId: id });
    const failed = snapshotIdOf("failed");
    cluster.script.errors.set(failed, { code: "RESOURCE_EXHAUSTED", message: "full" });
    assert.equal(
      await codeOf(controller.createSnapshot({ name: "failed", sourceVolumeId: id })),
      "RESOURCE_EXHAUSTED",
    );
    assert.deepEqual((await controller.listSnapshots({})).entries, []);
    assert.equal(await codeOf(controller.getSnapshot({ snapshotId: slow })), "NOT_FOUND");
    // Its source is needed until it is made.
    assert.match(await codeOf(remove(id)), /ABORTED|FAILED_PRECONDITION/);
    cluster.script.ignored.delete(slow);
    await cluster.wake();
    await waiting;
    assert.equal((await controller.listSnapshots({})).entries.length, 1);

    const copy = volumeIdOf("restoring");
    cluster.script.ignored.add(copy);
    const source = { type: { case: "snapshot" as const, value: { snapshotId: slow } } };
    const range = { capacityRange: { requiredBytes: 1024n * MIB }, volumeContentSource: source };
    const restoring = create("restoring", "n1", {}, range);
    await waitFor(
      cluster.store,
      { resource: Volumes, key: { name: copy } },
      (v) => v !== undefined,
      AbortSignal.timeout(60_000),
    );
    assert.match(
      await codeOf(controller.deleteSnapshot({ snapshotId: slow })),
      /ABORTED|FAILED_PRECONDITION/,
    );
    cluster.script.ignored.delete(copy);
    await cluster.wake();
    await restoring;
    await controller.deleteSnapshot({ snapshotId: slow });
    for (const volumeId of [copy, id]) await remove(volumeId);
  });

  test("a caller who gives up learns how far things were", async () => {
    const id = volumeIdOf("given up");
    cluster.script.ignored.add(id);
    const request = {
      name: "given up",
      capacityRange: { requiredBytes: 16n * MIB },
      volumeCapabilities: [capability()],
      parameters: { pool: "n1" },
    };
    assert.equal(
      await codeOf(cluster.client.controller.createVolume(request, { timeoutMs: 200 })),
      "DEADLINE_EXCEEDED",
    );
    cluster.script.ignored.delete(id);
    await cluster.wake();
    let response = await codeOf(cluster.client.controller.createVolume(request));
    while (response === "ABORTED") response = await codeOf(cluster.client.controller.createVolume(request));
    assert.equal(response, "OK");
    await remove(id);
  });

  test("a controller has no node service: every method of it is UNIMPLEMENTED", async () => {
    covers("CSI-128", "CSI-246");
    const { node, groupController } = cluster.client;
    assert.equal(await codeOf(node.nodeGetInfo({})), "UNIMPLEMENTED");
    assert.equal(await codeOf(node.nodeGetCapabilities({})), "UNIMPLEMENTED");
    assert.equal(await codeOf(groupController.groupControllerGetCapabilities({})), "OK");
  });
});
