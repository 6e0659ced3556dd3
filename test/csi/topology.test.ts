import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { test } from "node:test";
import { TOPOLOGY_NODE_KEY } from "@mooring/engine";
import { defined } from "@mooring/store";
import { covers, eventually, everyday, thorough } from "@mooring/store/testing";
import { withoutProgram } from "../../packages/engine/src/testing/without-program.ts";
import { startTwoNodes } from "./support/two-nodes.ts";
import {
  type CapabilityInit,
  type CreateVolumeInit,
  capability,
  codeOf,
  fails,
  GIB,
  MIB,
} from "./support/volumes.ts";

const world = await startTwoNodes();
const { controller } = world.controller;
const at = (node: string) => ({ segments: { [TOPOLOGY_NODE_KEY]: node } });
const [ONE, TWO, NOWHERE] = [at("node-1"), at("node-2"), at("node-3")];

async function create(name: string, requirement: object | undefined, more: CreateVolumeInit = {}) {
  const { volume } = await controller.createVolume({
    ...{ name, capacityRange: { requiredBytes: 16n * MIB }, volumeCapabilities: [capability()], ...more },
    ...defined({ accessibilityRequirements: requirement }),
  });
  assert.ok(volume);
  return volume;
}
const placeOf = (volume: Awaited<ReturnType<typeof create>>) =>
  volume.accessibleTopology.map(({ segments }) => segments[TOPOLOGY_NODE_KEY]);
const remove = (volumeId: string) => controller.deleteVolume({ volumeId });

const PLACED: readonly [string, object | undefined, RegExp][] = [
  ["no requirement", undefined, /^node-[12]$/],
  ["one requisite", { requisite: [TWO] }, /^node-2$/],
  ["one of two requisite", { requisite: [ONE, TWO] }, /^node-[12]$/],
  ["one requisite that does not exist", { requisite: [NOWHERE, TWO] }, /^node-2$/],
  ["the first preferred", { requisite: [ONE, TWO], preferred: [TWO, ONE] }, /^node-2$/],
  ["the first preferred, the other way round", { requisite: [ONE, TWO], preferred: [ONE, TWO] }, /^node-1$/],
  ["a preferred that does not exist", { requisite: [NOWHERE, ONE], preferred: [NOWHERE] }, /^node-1$/],
  ["only preferred, one does not exist", { preferred: [NOWHERE, TWO] }, /^node-2$/],
  ["only preferred, none exists", { preferred: [NOWHERE] }, /^node-[12]$/],
];
for (const [what, requirement, place] of PLACED) {
  test(`placed: ${what}`, everyday(), async () => {
    covers("CSI-102", "CSI-105", "CSI-106", "CSI-107", "CSI-109", "CSI-110", "CSI-112");
    const volume = await create(what, requirement);
    const places = placeOf(volume);
    assert.equal(places.length, 1);
    assert.match(places[0] ?? "", place);
    await remove(volume.volumeId);
  });
}

test(
  "requisite places that cannot be used are RESOURCE_EXHAUSTED, and nothing is made",
  everyday(),
  async () => {
    covers("CSI-113", "CSI-122");
    await fails("RESOURCE_EXHAUSTED", create("nowhere", { requisite: [NOWHERE] }), /topology/);
    const foreign = { requisite: [{ segments: { "example.com/zone": "z1" } }] };
    await fails("RESOURCE_EXHAUSTED", create("foreign", foreign), /topology/);
    const huge = { capacityRange: { requiredBytes: 100n * GIB } };
    await fails("RESOURCE_EXHAUSTED", create("huge", { requisite: [TWO] }, huge), /pool-node-2/);
    assert.deepEqual((await controller.listVolumes({})).entries, []);
  },
);

test(
  "a snapshot is usable where its volume is: it reports that, and a requisite place elsewhere is refused",
  everyday(),
  async () => {
    const volume = await create("source", { requisite: [TWO] });
    const createSnapshot = (name: string, requirement?: object) =>
      controller.createSnapshot({
        ...{ name, sourceVolumeId: volume.volumeId },
        ...defined({ accessibilityRequirements: requirement }),
      });
    const { snapshot } = await createSnapshot("one", { requisite: [ONE, TWO], preferred: [ONE] });
    const snapshotId = snapshot?.snapshotId ?? "";
    const placesOf = (found: { accessibleTopology: { segments: object }[] } | undefined) =>
      found?.accessibleTopology.map(({ segments }) => segments);
    assert.deepEqual(placesOf(snapshot), [TWO.segments]);
    assert.deepEqual(placesOf((await controller.getSnapshot({ snapshotId })).snapshot), [TWO.segments]);
    assert.deepEqual(placesOf((await controller.listSnapshots({})).entries[0]?.snapshot), [TWO.segments]);
    assert.equal((await createSnapshot("one")).snapshot?.snapshotId, snapshotId);
    await fails("ALREADY_EXISTS", createSnapshot("one", { requisite: [ONE] }), /requisite topology/);
    await fails("RESOURCE_EXHAUSTED", createSnapshot("two", { requisite: [ONE] }), /node node-2 only/);
    await fails(
      "INVALID_ARGUMENT",
      createSnapshot("two", { requisite: [TWO], preferred: [ONE] }),
      /preferred/,
    );
    assert.equal((await controller.listSnapshots({})).entries.length, 1);
    await controller.deleteSnapshot({ snapshotId });
    await remove(volume.volumeId);
  },
);

test("a full preferred place: the volume lands in another requisite one", thorough(), async () => {
  covers("CSI-112");
  const most = (await controller.getCapacity({ accessibleTopology: TWO })).maximumVolumeSize ?? 0n;
  const large = { capacityRange: { requiredBytes: most - 64n * MIB } };
  const block = { volumeCapabilities: [capability({ access: "block" })] };
  const full = await create("fills", { requisite: [TWO] }, { ...large, ...block });
  const preferred = { requisite: [ONE, TWO], preferred: [TWO] };
  const volume = await create("lands", preferred, { capacityRange: { requiredBytes: GIB } });
  assert.deepEqual(placeOf(volume), ["node-1"]);
  for (const { volumeId } of [full, volume]) await remove(volumeId);
});

test("the same name at another requisite place is ALREADY_EXISTS", everyday(), async () => {
  covers("CSI-350");
  const volume = await create("placed", { requisite: [ONE] });
  assert.deepEqual(await create("placed", { requisite: [TWO, ONE] }), volume);
  await fails("ALREADY_EXISTS", create("placed", { requisite: [TWO] }), /topology/);
  await remove(volume.volumeId);
});

const BAD_SEGMENTS: readonly [string, Record<string, string>][] = [
  ["two keys that differ by case", { Zone: "a", zone: "b" }],
  ["an empty value", { zone: "" }],
  ["a value of 64 characters", { zone: "v".repeat(64) }],
  ["a value that ends in a dot", { zone: "a." }],
  ["a key without a name", { "example.com/": "a" }],
  ["a key of 64 characters", { ["k".repeat(64)]: "a" }],
  ["a prefix of 64 characters", { [`${"p".repeat(64)}/zone`]: "a" }],
  ["a key with a blank", { "my zone": "a" }],
  ["a key with two slashes", { "a/b/c": "a" }],
];
for (const [what, segments] of BAD_SEGMENTS) {
  test(`INVALID_ARGUMENT: ${what}`, everyday(), async () => {
    covers("CSI-115", "CSI-118", "CSI-119", "CSI-031");
    await fails("INVALID_ARGUMENT", create("bad", { requisite: [{ segments }] }), /segments/);
    await fails("INVALID_ARGUMENT", controller.getCapacity({ accessibleTopology: { segments } }), /segments/);
  });
}

test("our keys have one prefix, a domain; every node reports its own place", everyday(), async () => {
  covers("CSI-115", "CSI-116", "CSI-117", "CSI-119", "CSI-307");
  const keys = new Set<string>();
  for (const node of ["node-1", "node-2"] as const) {
    const { accessibleTopology } = await world.nodes[node].node.nodeGetInfo({});
    assert.deepEqual(Object.values(accessibleTopology?.segments ?? {}), [node]);
    for (const key of Object.keys(accessibleTopology?.segments ?? {})) keys.add(key);
  }
  const volume = await create("keys", undefined);
  for (const { segments } of volume.accessibleTopology)
    for (const key of Object.keys(segments)) keys.add(key);
  await remove(volume.volumeId);
  const prefixes = new Set([...keys].map((key) => key.split("/")[0]));
  assert.equal(prefixes.size, 1);
  assert.match([...prefixes][0] ?? "", /^[a-z0-9-]+(\.[a-z0-9-]+)+$/);
  for (const key of keys) assert.match(key, /^[A-Za-z0-9][-\w.]{0,62}\/[A-Za-z0-9][-\w.]{0,62}$/);
});

test("the controller attaches for any node; each node's capacity is its own", everyday(), async () => {
  covers("CSI-141", "CSI-142", "CSI-165", "CSI-194");
  const volume = await create("far", { requisite: [TWO] });
  const { volumeId } = volume;
  const volumeCapability = capability();
  const publishContext = (
    await controller.controllerPublishVolume({ volumeId, nodeId: "node-2", volumeCapability })
  ).publishContext;
  const stagingTargetPath = world.path("far");
  const stage = { volumeId, stagingTargetPath, volumeCapability, publishContext };
  await fails("FAILED_PRECONDITION", world.nodes["node-1"].node.nodeStageVolume(stage), /node-2/);
  await world.nodes["node-2"].node.nodeStageVolume(stage);
  await world.nodes["node-2"].node.nodeUnstageVolume({ volumeId, stagingTargetPath });
  await controller.controllerUnpublishVolume({ volumeId, nodeId: "node-2" });
  const capacity = async (place: object) =>
    (await controller.getCapacity({ accessibleTopology: place })).availableCapacity;
  // What a pool reports follows its volumes a moment later, so also between two of these calls.
  await eventually("the capacities of both nodes to be that of all", async () => {
    const sum = (await controller.getCapacity({})).availableCapacity;
    return (await capacity(ONE)) + (await capacity(TWO)) === sum;
  });
  await remove(volumeId);
});

test(
  "published at one node, another is FAILED_PRECONDITION, and the message names the first",
  everyday(),
  async () => {
    covers("CSI-155", "CSI-088");
    const { volumeId } = await create("single", { requisite: [ONE] });
    const volumeCapability = capability();
    await controller.controllerPublishVolume({ volumeId, nodeId: "node-1", volumeCapability });
    await fails(
      "FAILED_PRECONDITION",
      controller.controllerPublishVolume({ volumeId, nodeId: "node-2", volumeCapability }),
      /node-1/,
    );
    await controller.controllerUnpublishVolume({ volumeId, nodeId: "" });
    await remove(volumeId);
  },
);

test(
  "a volume for several nodes is published to all of them at once; one serves it, and a node that cannot use that reports it",
  everyday(),
  async () => {
    covers("CSI-072", "CSI-073", "LHA-058");
    const volumeCapability = capability({ mode: "MULTI_NODE_MULTI_WRITER" });
    const requirement = { requisite: [TWO] };
    const { volumeId, accessibleTopology } = await create("many", requirement, {
      volumeCapabilities: [volumeCapability],
    });
    assert.deepEqual(accessibleTopology, []);
    for (const nodeId of ["node-1", "node-2"])
      await controller.controllerPublishVolume({ volumeId, nodeId, volumeCapability });
    const stagingTargetPath = world.path("many");
    const stage = { volumeId, stagingTargetPath, volumeCapability };
    const server = world.nodes["node-2"].node;
    await server.nodeStageVolume(stage);
    await server.nodeStageVolume(stage);
    const targets = ["many-1", "many-2"].map((name) => world.path(name));
    for (const targetPath of targets)
      await server.nodePublishVolume({ ...stage, targetPath, readonly: targetPath === targets[1] });
    await writeFile(`${targets[0]}/f`, "for all");
    assert.equal(await readFile(`${targets[1]}/f`, "utf8"), "for all");
    await assert.rejects(writeFile(`${targets[1]}/f`, "no"), { code: "EROFS" });
    const elsewhere = { ...stage, stagingTargetPath: world.path("many-elsewhere") };
    const other = world.nodes["node-1"].node;
    if ((await readFile("/proc/filesystems", "utf8")).includes("nfs4")) {
      await other.nodeStageVolume(elsewhere);
      assert.equal(await readFile(`${elsewhere.stagingTargetPath}/f`, "utf8"), "for all");
      await other.nodeUnstageVolume(elsewhere);
    } else {
      await fails("FAILED_PRECONDITION", other.nodeStageVolume(elsewhere), /cannot mount NFS.*node-2/);
    }
    for (const targetPath of targets) await server.nodeUnpublishVolume({ volumeId, targetPath });
    await server.nodeUnstageVolume({ volumeId, stagingTargetPath });
    for (const nodeId of ["node-2", "node-1"])
      await controller.controllerUnpublishVolume({ volumeId, nodeId });
    await remove(volumeId);
  },
);

test(
  "a volume for several nodes whose node has no server is refused with what to install, and published once it is there",
  thorough(),
  async (t) => {
    const volumeCapability = capability({ mode: "MULTI_NODE_MULTI_WRITER" });
    const volumeCapabilities = [volumeCapability];
    const { volumeId } = await create("no server", { requisite: [TWO] }, { volumeCapabilities });
    const publish = () =>
      controller.controllerPublishVolume({ volumeId, nodeId: "node-1", volumeCapability });
    const installed = await withoutProgram(t, world.path("tools"), "ganesha.nfsd");
    const reported = /node "node-2" cannot serve.*apt-get install nfs-ganesha-vfs/;
    await fails("FAILED_PRECONDITION", publish(), reported);
    // A caller that is refused may never call again: nothing is published, so the volume can be deleted.
    const refused = await create("no server, given up", { requisite: [TWO] }, { volumeCapabilities });
    const again = { volumeId: refused.volumeId, nodeId: "node-1", volumeCapability };
    await fails("FAILED_PRECONDITION", controller.controllerPublishVolume(again), reported);
    const { status } = await controller.controllerGetVolume({ volumeId: refused.volumeId });
    assert.deepEqual(status?.publishedNodeIds, []);
    await eventually("it to be deleted", async () => {
      const gone = controller.deleteVolume({ volumeId: refused.volumeId });
      return (await codeOf(gone)) === "OK";
    });
    installed();
    await eventually("the server to be found", async () => (await codeOf(publish())) === "OK");
    await controller.controllerUnpublishVolume({ volumeId, nodeId: "node-1" });
    await remove(volumeId);
  },
);

test(
  "MULTI_NODE_SINGLE_WRITER: a second node that would write is refused with the first one's name; it may read, and cannot write",
  everyday(),
  async () => {
    covers("CSI-091", "CSI-155");
    const volumeCapability = capability({ mode: "MULTI_NODE_SINGLE_WRITER" });
    const volumeCapabilities = [volumeCapability];
    const { volumeId } = await create("one writer", { requisite: [TWO] }, { volumeCapabilities });
    const publish = (nodeId: string, readonly = false) =>
      controller.controllerPublishVolume({ volumeId, nodeId, volumeCapability, readonly });
    const unpublish = (nodeId: string) => controller.controllerUnpublishVolume({ volumeId, nodeId });
    await publish("node-1");
    await publish("node-1");
    await fails("FAILED_PRECONDITION", publish("node-2"), /written to on node "node-1"/);
    const { publishContext } = await publish("node-2", true);
    const { node } = world.nodes["node-2"];
    const stage = { volumeId, stagingTargetPath: world.path("one-writer"), volumeCapability };
    const targetPath = world.path("one-writer-target");
    const write = () => writeFile(`${targetPath}/f`, "written");
    await node.nodeStageVolume({ ...stage, publishContext });
    await node.nodePublishVolume({ ...stage, publishContext, targetPath });
    await assert.rejects(write(), { code: "EROFS" });
    await node.nodeUnpublishVolume({ volumeId, targetPath });
    await node.nodeUnstageVolume(stage);
    await fails("ALREADY_EXISTS", publish("node-2"), /another readonly/);
    await unpublish("node-2");
    await unpublish("node-1");
    await publish("node-2");
    await fails("FAILED_PRECONDITION", publish("node-1"), /written to on node "node-2"/);
    await publish("node-1", true);
    await node.nodeStageVolume(stage);
    await node.nodePublishVolume({ ...stage, targetPath });
    await write();
    await node.nodeUnpublishVolume({ volumeId, targetPath });
    await node.nodeUnstageVolume(stage);
    for (const nodeId of ["node-1", "node-2"]) await unpublish(nodeId);
    await remove(volumeId);
  },
);

test(
  "a mode for one node, or for one writer, counts against what other nodes ask for later",
  thorough(),
  async () => {
    covers("CSI-088", "CSI-091");
    const modes = ["SINGLE_NODE_WRITER", "MULTI_NODE_SINGLE_WRITER", "MULTI_NODE_MULTI_WRITER"] as const;
    const [single, oneWriter, many] = modes.map((mode) => capability({ mode })) as [
      CapabilityInit,
      CapabilityInit,
      CapabilityInit,
    ];
    const volumeCapabilities = [single, oneWriter, many];
    const { volumeId } = await create("all modes", { requisite: [TWO] }, { volumeCapabilities });
    const publish = (nodeId: string, volumeCapability: CapabilityInit, readonly = false) =>
      controller.controllerPublishVolume({ volumeId, nodeId, volumeCapability, readonly });
    for (const first of [single, oneWriter]) {
      await publish("node-2", first);
      await fails("FAILED_PRECONDITION", publish("node-1", many), /node-2/);
      await controller.controllerUnpublishVolume({ volumeId, nodeId: "" });
    }
    await publish("node-2", many);
    await fails("FAILED_PRECONDITION", publish("node-1", oneWriter), /written to on node "node-2"/);
    await publish("node-1", oneWriter, true);
    await controller.controllerUnpublishVolume({ volumeId, nodeId: "" });
    await remove(volumeId);
  },
);

test(
  "a controller plugin has no node service, a node plugin no controller service: UNIMPLEMENTED",
  everyday(),
  async () => {
    covers("CSI-012", "CSI-017");
    await fails("UNIMPLEMENTED", world.controller.node.nodeGetInfo({}));
    for (const client of Object.values(world.nodes)) {
      await fails("UNIMPLEMENTED", client.controller.listVolumes({}));
    }
  },
);
