import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { addons, type CsiClient, type CsiServer, connect, v1 } from "@mooring/csi";
import { fuzz } from "@mooring/csi/fuzz";
import { serveWithGroups } from "./groups.ts";

const capability = {
  accessType: { case: "mount" as const, value: {} },
  accessMode: { mode: v1.VolumeCapability_AccessMode_Mode.SINGLE_NODE_WRITER },
};

let folder: string;
let endpoint: string;
let server: CsiServer;
let client: CsiClient;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "driver-groups-"));
  endpoint = `unix://${join(folder, "csi.sock")}`;
  server = await serveWithGroups(endpoint, join(folder, "volumes"), "node-1");
  client = await connect(endpoint, { readyTimeoutMs: 60_000 });
});

after(async () => {
  client?.close();
  await server?.stop();
  for (const target of await ourMounts()) execFileSync("umount", ["--", target]);
  await rm(folder, { recursive: true, force: true });
});

/** Random calls publish volumes, too. */
async function ourMounts(): Promise<string[]> {
  const lines = (await readFile("/proc/self/mountinfo", "utf8")).split("\n");
  return lines.map((line) => line.split(" ")[4] ?? "").filter((target) => target.startsWith(`${folder}/`));
}

async function make(name: string): Promise<string> {
  const { volume } = await client.controller.createVolume({ name, volumeCapabilities: [capability] });
  return volume?.volumeId ?? "";
}

test("the handlers that are there are what the add-ons' identity announces", async () => {
  const { capabilities } = await client.addonsIdentity.getCapabilities({});
  const groups = capabilities.flatMap(({ type }) => (type.case === "volumeGroup" ? [type.value.type] : []));
  const { Capability_VolumeGroup_Type: Type } = addons;
  assert.deepEqual(groups.sort(), [
    Type.VOLUME_GROUP,
    Type.LIMIT_VOLUME_TO_ONE_VOLUME_GROUP,
    Type.DO_NOT_ALLOW_VG_TO_DELETE_VOLUMES,
    Type.MODIFY_VOLUME_GROUP,
    Type.GET_VOLUME_GROUP,
    Type.LIST_VOLUME_GROUPS,
  ]);
});

test("a group lives: made, filled, found again after a restart, emptied, deleted", async () => {
  const [a, b] = [await make("life-a"), await make("life-b")];
  const { volumeGroup: made } = await client.volumeGroup.createVolumeGroup({ name: "life", volumeIds: [a] });
  const volumeGroupId = made?.volumeGroupId ?? "";
  const modified = await client.volumeGroup.modifyVolumeGroupMembership({
    volumeGroupId,
    volumeIds: [b, a, b],
  });
  assert.deepEqual(
    modified.volumeGroup?.volumes.map(({ volumeId }) => volumeId),
    [a, b].sort(),
  );
  await assert.rejects(client.controller.deleteVolume({ volumeId: a }), { codeName: "FAILED_PRECONDITION" });
  await assert.rejects(client.volumeGroup.deleteVolumeGroup({ volumeGroupId }), {
    codeName: "FAILED_PRECONDITION",
  });

  client.close();
  await server.stop();
  server = await serveWithGroups(endpoint, join(folder, "volumes"), "node-1");
  client = await connect(endpoint, { readyTimeoutMs: 60_000 });
  const found = await client.volumeGroup.controllerGetVolumeGroup({ volumeGroupId });
  assert.deepEqual(found.volumeGroup, modified.volumeGroup);

  await client.volumeGroup.modifyVolumeGroupMembership({ volumeGroupId });
  await client.volumeGroup.deleteVolumeGroup({ volumeGroupId });
  await client.volumeGroup.deleteVolumeGroup({ volumeGroupId });
  await assert.rejects(client.volumeGroup.controllerGetVolumeGroup({ volumeGroupId }), {
    codeName: "NOT_FOUND",
  });
  await client.controller.deleteVolume({ volumeId: a });
});

test("what the kit refuses before a handler sees it, and what the handlers refuse", async () => {
  const volume = await make("refused");
  const { createVolumeGroup, listVolumeGroups, modifyVolumeGroupMembership } = client.volumeGroup;
  await assert.rejects(createVolumeGroup({ name: "" }), { codeName: "INVALID_ARGUMENT" });
  await assert.rejects(listVolumeGroups({ maxEntries: -1 }), { codeName: "INVALID_ARGUMENT" });
  await assert.rejects(listVolumeGroups({ startingToken: "odd" }), { codeName: "ABORTED" });
  const { volumeGroup } = await createVolumeGroup({ name: "first", volumeIds: [volume] });
  await assert.rejects(createVolumeGroup({ name: "first" }), { codeName: "ALREADY_EXISTS" });
  await assert.rejects(createVolumeGroup({ name: "second", volumeIds: [volume] }), {
    codeName: "FAILED_PRECONDITION",
  });
  const volumeGroupId = volumeGroup?.volumeGroupId ?? "";
  await assert.rejects(modifyVolumeGroupMembership({ volumeGroupId, volumeIds: [volume, "none"] }), {
    codeName: "NOT_FOUND",
  });
  const { entries } = await listVolumeGroups({ maxEntries: 1 });
  assert.deepEqual(
    entries[0]?.volumeGroup?.volumes.map(({ volumeId }) => volumeId),
    [volume],
  );
});

test("of two groups that want one volume at once, one gets it", async () => {
  const volumeIds = [await make("wanted")];
  const names = Array.from({ length: 8 }, (_, index) => `rival-${index}`);
  const settled = await Promise.allSettled(
    names.map((name) => client.volumeGroup.createVolumeGroup({ name, volumeIds })),
  );
  assert.equal(settled.filter(({ status }) => status === "fulfilled").length, 1);
});

test("random and damaged requests neither break it nor make it blame itself", async () => {
  const report = await fuzz(client.endpoint, { folder: join(folder, "fuzz"), requests: 200, seed: 11 });
  assert.deepEqual(report.findings, []);
});
