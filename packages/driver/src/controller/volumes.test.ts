import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { TOPOLOGY_NODE_KEY } from "@mooring/engine";
import { covers } from "@mooring/store/testing";
import {
  capability,
  codeOf,
  createVolume,
  failureOf,
  MIB,
  stage,
  startWorld,
  type World,
} from "../testing/world.ts";

describe("volumes over the socket", () => {
  let world: World;
  before(async () => {
    world = await startWorld({ maxVolumesPerNode: 4 });
  });
  after(() => world.end());

  const create = (name: string, more: object = {}) =>
    world.client.controller.createVolume({
      name,
      capacityRange: { requiredBytes: 16n * MIB },
      volumeCapabilities: [capability()],
      ...more,
    });
  const remove = (volumeId: string) => world.client.controller.deleteVolume({ volumeId });

  test("ten calls with one name at once make one volume", async () => {
    covers("CSI-067", "CSI-069", "CSI-020");
    const made = await Promise.all(Array.from({ length: 10 }, () => create("ten")));
    const ids = new Set(made.map(({ volume }) => volume?.volumeId));
    assert.equal(ids.size, 1);
    const { entries } = await world.client.controller.listVolumes({});
    assert.equal(entries.length, 1);
    await remove([...ids][0] ?? "");
  });

  const CHANGES: Record<string, object> = {
    "capacity_range.required_bytes": { capacityRange: { requiredBytes: 20n * MIB } },
    "capacity_range.limit_bytes": { capacityRange: { requiredBytes: 16n * MIB, limitBytes: 64n * MIB } },
    volume_capabilities: { volumeCapabilities: [capability({ access: "block" })] },
    parameters: { parameters: { pool: "default" } },
    mutable_parameters: { mutableParameters: { readAheadKiB: "256" } },
    volume_content_source: {
      volumeContentSource: { type: { case: "snapshot", value: { snapshotId: "s-unknown" } } },
    },
  };
  test("one name with any other argument is ALREADY_EXISTS and names the argument", async () => {
    covers("CSI-120", "CSI-350");
    const { volume } = await create("same");
    for (const [field, change] of Object.entries(CHANGES)) {
      const { code, message } = await failureOf(create("same", change));
      assert.deepEqual([field, code], [field, "ALREADY_EXISTS"]);
      assert.match(message, new RegExp(field.replace(".", "\\.")));
    }
    assert.equal((await create("same")).volume?.volumeId, volume?.volumeId);
    await remove(volume?.volumeId ?? "");
  });

  test("sizes are whole sectors between required and limit", async () => {
    covers("CSI-093", "CSI-094", "CSI-071");
    const size = async (capacityRange: object | undefined) => {
      const { volume } = await create(`size ${JSON.stringify(capacityRange, (_, v) => String(v))}`, {
        capacityRange,
      });
      await remove(volume?.volumeId ?? "");
      return volume?.capacityBytes;
    };
    assert.equal(await size({ requiredBytes: 16n * MIB + 1n }), 16n * MIB + 4096n);
    assert.equal(await size({ requiredBytes: 1n }), 8n * MIB);
    assert.equal(await size({ limitBytes: 20n * MIB }), 20n * MIB);
    assert.equal(await size(undefined), 1024n * MIB);
    const refused = (capacityRange: object) => codeOf(create("no size", { capacityRange }));
    assert.equal(
      await refused({ requiredBytes: 16n * MIB + 1n, limitBytes: 16n * MIB + 2n }),
      "OUT_OF_RANGE",
    );
    assert.equal(await refused({ limitBytes: 1n * MIB }), "OUT_OF_RANGE");
  });

  test("what no pool has room for is RESOURCE_EXHAUSTED, and leaves nothing", async () => {
    covers("CSI-122");
    const huge = { capacityRange: { requiredBytes: 1n << 50n } };
    const { code, message } = await failureOf(create("huge", huge));
    assert.equal(code, "RESOURCE_EXHAUSTED");
    assert.match(message, /default/);
    assert.deepEqual((await world.client.controller.listVolumes({})).entries, []);
  });

  test("volumes report where they are, and are only made there", async () => {
    covers("CSI-102", "CSI-105", "CSI-113");
    const here = { segments: { [TOPOLOGY_NODE_KEY]: world.nodeID } };
    const there = { segments: { [TOPOLOGY_NODE_KEY]: "elsewhere" } };
    const { volume } = await create("here", {
      accessibilityRequirements: { requisite: [there, here], preferred: [there] },
    });
    assert.deepEqual(
      volume?.accessibleTopology.map((t) => ({ ...t.segments })),
      [here.segments],
    );
    const elsewhere = { accessibilityRequirements: { requisite: [there] } };
    assert.equal(await codeOf(create("there", elsewhere)), "RESOURCE_EXHAUSTED");
    assert.equal(await codeOf(create("here", elsewhere)), "ALREADY_EXISTS");
    await remove(volume?.volumeId ?? "");
  });

  test("unknown parameters, pools and file systems are INVALID_ARGUMENT", async () => {
    covers("CSI-072", "CSI-073", "CSI-074");
    const refused = (more: object) => codeOf(create("bad", more));
    assert.equal(await refused({ parameters: { pool: "nowhere" } }), "INVALID_ARGUMENT");
    assert.equal(await refused({ parameters: { colour: "red" } }), "INVALID_ARGUMENT");
    assert.equal(await refused({ mutableParameters: { readAheadKiB: "lots" } }), "INVALID_ARGUMENT");
    assert.equal(await refused({ volumeCapabilities: [capability({ fsType: "ntfs" })] }), "INVALID_ARGUMENT");
    const two = [capability({ fsType: "ext4" }), capability({ fsType: "xfs" })];
    assert.equal(await refused({ volumeCapabilities: two }), "INVALID_ARGUMENT");
    assert.equal(await codeOf(create("good", { parameters: { "csi.storage.k8s.io/pvc/name": "p" } })), "OK");
    await remove(
      (await create("good", { parameters: { "csi.storage.k8s.io/pvc/name": "p" } })).volume?.volumeId ?? "",
    );
  });

  test("a volume in use stays; one that is gone, or never was, is deleted", async () => {
    covers("CSI-132", "CSI-134", "CSI-131");
    const id = await createVolume(world, "in use");
    const { undo } = await stage(world, id);
    const { code, message } = await failureOf(remove(id));
    assert.equal(code, "FAILED_PRECONDITION");
    assert.match(message, /node-1/);
    await undo();
    await remove(id);
    await remove(id);
    await remove("no such volume");
    await remove("../../../etc/passwd");
    assert.equal(await codeOf(world.client.controller.controllerGetVolume({ volumeId: id })), "NOT_FOUND");
  });

  test("publish: idempotent, and every row of its error table", async () => {
    covers("CSI-143", "CSI-150", "CSI-151", "CSI-153", "CSI-157");
    const { controller } = world.client;
    const id = await createVolume(world, "published");
    const publish = (more: object = {}) =>
      controller.controllerPublishVolume({
        volumeId: id,
        nodeId: world.nodeID,
        volumeCapability: capability(),
        ...more,
      });
    await publish();
    await publish();
    assert.equal(await codeOf(publish({ readonly: true })), "ALREADY_EXISTS");
    assert.equal(
      await codeOf(publish({ volumeCapability: capability({ mode: "SINGLE_NODE_MULTI_WRITER" }) })),
      "ALREADY_EXISTS",
    );
    assert.equal(
      await codeOf(publish({ volumeCapability: capability({ access: "block" }) })),
      "INVALID_ARGUMENT",
    );
    assert.equal(await codeOf(publish({ volumeId: "v-unknown" })), "NOT_FOUND");
    assert.equal(await codeOf(publish({ nodeId: "unknown" })), "NOT_FOUND");
    assert.equal(await codeOf(publish({ nodeId: "../x" })), "NOT_FOUND");
    const others = await Promise.all([1, 2, 3].map((n) => createVolume(world, `other ${n}`)));
    for (const volumeId of others) await publish({ volumeId });
    const last = await createVolume(world, "one too many");
    assert.equal(await codeOf(publish({ volumeId: last })), "RESOURCE_EXHAUSTED");
    for (const volumeId of [id, ...others]) await controller.controllerUnpublishVolume({ volumeId });
    await publish({ volumeId: last });
    await controller.controllerUnpublishVolume({ volumeId: last, nodeId: world.nodeID });
    for (const volumeId of [id, ...others, last]) await remove(volumeId);
  });

  test("unpublish is done when the device is gone, and fine when there never was one", async () => {
    covers("CSI-166", "CSI-169", "CSI-352");
    const { controller } = world.client;
    const id = await createVolume(world, "unpublished");
    await controller.controllerPublishVolume({
      volumeId: id,
      nodeId: world.nodeID,
      volumeCapability: capability(),
    });
    const device = async () => (await world.loopOf(id)) !== undefined;
    assert.equal(await device(), true);
    await controller.controllerUnpublishVolume({ volumeId: id, nodeId: "another" });
    assert.equal(await device(), true);
    await controller.controllerUnpublishVolume({ volumeId: id, nodeId: "" });
    assert.equal(await device(), false);
    await controller.controllerUnpublishVolume({ volumeId: id, nodeId: world.nodeID });
    await controller.controllerUnpublishVolume({ volumeId: "v-unknown", nodeId: "unknown" });
    await remove(id);
  });

  test("pages go on after restarts, additions and deletions", async () => {
    covers("CSI-185", "CSI-186", "CSI-190", "CSI-191");
    const { controller } = world.client;
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.push(await createVolume(world, `page ${n}`));
    const first = await controller.listVolumes({ maxEntries: 2 });
    assert.deepEqual(
      first.entries.map((e) => e.volume?.volumeId),
      ids.slice(0, 2),
    );
    await remove(ids[1] ?? "");
    await world.restart();
    const added = await createVolume(world, "added");
    const rest = await controller.listVolumes({ startingToken: first.nextToken });
    assert.deepEqual(
      rest.entries.map((e) => e.volume?.volumeId),
      [...ids.slice(2), added],
    );
    assert.equal(rest.nextToken, "");
    for (const token of ["nonsense", `${first.nextToken}x`, Buffer.from("a b c").toString("base64url")]) {
      assert.equal(await codeOf(controller.listVolumes({ startingToken: token })), "ABORTED");
    }
    for (const id of [...ids, added]) await remove(id);
  });

  test("capacity shrinks with promises and is 0 where nothing can be made", async () => {
    covers("CSI-193", "CSI-194", "CSI-196");
    const { controller } = world.client;
    const before = await controller.getCapacity({});
    assert.equal(before.maximumVolumeSize, before.availableCapacity);
    const id = await createVolume(world, "promised", { size: 1024n * MIB });
    const topology = (node: string) => ({ accessibleTopology: { segments: { [TOPOLOGY_NODE_KEY]: node } } });
    assert.equal((await controller.getCapacity(topology("elsewhere"))).availableCapacity, 0n);
    assert.equal((await controller.getCapacity({ parameters: { pool: "nowhere" } })).availableCapacity, 0n);
    const xfs = await controller.getCapacity({
      ...topology(world.nodeID),
      volumeCapabilities: [capability({ fsType: "xfs" })],
    });
    assert.equal(xfs.minimumVolumeSize, 300n * MIB);
    await remove(id);
  });

  test("capabilities are confirmed, or refused with a message", async () => {
    covers("CSI-177", "CSI-178", "CSI-183");
    const { controller } = world.client;
    const id = await createVolume(world, "validated", { fsType: "ext4" });
    const validate = (more: object) =>
      controller.validateVolumeCapabilities({ volumeId: id, volumeCapabilities: [capability()], ...more });
    assert.equal((await validate({})).confirmed?.volumeCapabilities.length, 1);
    const refused = await validate({ volumeCapabilities: [capability(), capability({ access: "block" })] });
    assert.equal(refused.confirmed, undefined);
    assert.match(refused.message, /block/);
    assert.match((await validate({ volumeCapabilities: [capability({ fsType: "xfs" })] })).message, /ext4/);
    const manyReasons = Array.from({ length: 9 }, () => capability({ fsType: "xfs" }));
    const short = await validate({ volumeCapabilities: manyReasons });
    assert.match(short.message, /ext4.*\.\.\.$/);
    assert.ok(Buffer.byteLength(short.message) <= 128, short.message);
    assert.equal(await codeOf(validate({ volumeId: "v-unknown" })), "NOT_FOUND");
    await remove(id);
  });

  test("growing: never smaller, never above the limit, at once when it is large enough", async () => {
    covers("CSI-071");
    const { controller } = world.client;
    const id = await createVolume(world, "growing");
    const expand = (requiredBytes: bigint, limitBytes = 0n) =>
      controller.controllerExpandVolume({ volumeId: id, capacityRange: { requiredBytes, limitBytes } });
    const grown = await expand(400n * MIB);
    // It has no file system yet.
    assert.deepEqual([grown.capacityBytes, grown.nodeExpansionRequired], [400n * MIB, false]);
    assert.equal((await expand(320n * MIB)).capacityBytes, 400n * MIB);
    assert.equal(await codeOf(expand(320n * MIB, 350n * MIB)), "OUT_OF_RANGE");
    assert.equal(await codeOf(expand(1n << 50n)), "OUT_OF_RANGE");
    assert.equal((await expand(400n * MIB)).capacityBytes, 400n * MIB);
    await remove(id);
  });

  test("a caller that disappears leaves a volume that its retry finds", async () => {
    covers("CSI-069");
    const stop = new AbortController();
    const first = world.client.controller.createVolume(
      { name: "vanished", capacityRange: { requiredBytes: 16n * MIB }, volumeCapabilities: [capability()] },
      { signal: stop.signal },
    );
    setImmediate(() => stop.abort());
    assert.notEqual(await codeOf(first), "NOT_FOUND");
    let response = await failureOf(create("vanished"));
    while (response.code === "ABORTED") response = await failureOf(create("vanished"));
    assert.equal(response.code, "OK");
    assert.equal((await world.client.controller.listVolumes({})).entries.length, 1);
    await remove((await create("vanished")).volume?.volumeId ?? "");
  });
});
