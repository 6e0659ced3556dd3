import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type CsiClient, type CsiServer, connect, v0, v1 } from "@mooring/csi";
import { fuzz } from "@mooring/csi/fuzz";
import { covers, thorough } from "@mooring/store/testing";
import { serve } from "./driver.ts";

const Mode = v1.VolumeCapability_AccessMode_Mode;
const mount = (mode: v1.VolumeCapability_AccessMode_Mode = Mode.SINGLE_NODE_WRITER) => ({
  accessType: { case: "mount" as const, value: {} },
  accessMode: { mode },
});

let folder: string;
let server: CsiServer;
let client: CsiClient;

before(async () => {
  assert.equal(process.getuid?.(), 0, "bind mounts need root");
  folder = await mkdtemp(join(tmpdir(), "driver-minimal-"));
  const endpoint = `unix://${join(folder, "csi.sock")}`;
  server = await serve(endpoint, join(folder, "volumes"), "node-1");
  client = await connect(endpoint, { readyTimeoutMs: 60_000 });
});

after(async () => {
  client?.close();
  await server?.stop();
  for (const target of await ourMounts()) execFileSync("umount", ["--", target]);
  await rm(folder, { recursive: true, force: true });
});

async function ourMounts(): Promise<string[]> {
  const lines = (await readFile("/proc/self/mountinfo", "utf8")).split("\n");
  return lines.map((line) => line.split(" ")[4] ?? "").filter((target) => target.startsWith(`${folder}/`));
}

async function make(name: string, mode?: v1.VolumeCapability_AccessMode_Mode): Promise<string> {
  const { volume } = await client.controller.createVolume({ name, volumeCapabilities: [mount(mode)] });
  return volume?.volumeId ?? "";
}

test("one socket serves all services and says what they can do", async () => {
  covers("CSI-014", "CSI-048");
  const { capabilities } = await client.identity.getPluginCapabilities({});
  assert.deepEqual(
    capabilities.map(({ type }) => type.value?.type),
    [v1.PluginCapability_Service_Type.CONTROLLER_SERVICE],
  );
  const { CREATE_DELETE_VOLUME, LIST_VOLUMES, SINGLE_NODE_MULTI_WRITER } =
    v1.ControllerServiceCapability_RPC_Type;
  const controller = await client.controller.controllerGetCapabilities({});
  assert.deepEqual(
    controller.capabilities.map(({ type }) => type.value?.type),
    [CREATE_DELETE_VOLUME, LIST_VOLUMES, SINGLE_NODE_MULTI_WRITER],
  );
  await assert.rejects(client.controller.getCapacity({}), { codeName: "UNIMPLEMENTED" });
});

test("a volume lives: made, published, written, read elsewhere, unpublished, deleted", async () => {
  const volumeId = await make("life");
  const targetPath = join(folder, "target with space");
  const publish = { volumeId, targetPath, volumeCapability: mount() };
  await client.node.nodePublishVolume(publish);
  await client.node.nodePublishVolume(publish);
  await writeFile(join(targetPath, "file"), "kept");
  const { usage } = await client.node.nodeGetVolumeStats({ volumeId, volumePath: targetPath });
  assert.ok((usage[0]?.total ?? 0n) > 0n);
  await assert.rejects(client.controller.deleteVolume({ volumeId }), { codeName: "FAILED_PRECONDITION" });
  await client.node.nodeUnpublishVolume({ volumeId, targetPath });
  await client.node.nodeUnpublishVolume({ volumeId, targetPath });

  await client.node.nodePublishVolume({ ...publish, readonly: true });
  assert.equal(await readFile(join(targetPath, "file"), "utf8"), "kept");
  await assert.rejects(writeFile(join(targetPath, "file"), "x"), { code: "EROFS" });
  await client.node.nodeUnpublishVolume({ volumeId, targetPath });
  await client.controller.deleteVolume({ volumeId });
  await client.controller.deleteVolume({ volumeId });
  await assert.rejects(client.node.nodePublishVolume(publish), { codeName: "NOT_FOUND" });
});

test("the same name is the same volume, or refused when it should differ", async () => {
  covers("CSI-067", "CSI-120");
  const request = { name: "twice", volumeCapabilities: [mount()], capacityRange: { requiredBytes: 1n } };
  const first = await client.controller.createVolume(request);
  assert.deepEqual(await client.controller.createVolume(request), first);
  const other = { ...request, capacityRange: { requiredBytes: 2n } };
  await assert.rejects(client.controller.createVolume(other), { codeName: "ALREADY_EXISTS" });
});

test("what a second publish returns", async () => {
  covers("CSI-277", "CSI-278", "CSI-279");
  const volumeId = await make("second");
  const request = { volumeId, targetPath: join(folder, "one"), volumeCapability: mount() };
  const elsewhere = { ...request, targetPath: join(folder, "two") };
  await client.node.nodePublishVolume(request);
  await client.node.nodePublishVolume(request);
  await assert.rejects(client.node.nodePublishVolume({ ...request, readonly: true }), {
    codeName: "ALREADY_EXISTS",
  });
  await assert.rejects(client.node.nodePublishVolume(elsewhere), { codeName: "FAILED_PRECONDITION" });
  await client.node.nodePublishVolume({
    ...elsewhere,
    volumeCapability: mount(Mode.SINGLE_NODE_MULTI_WRITER),
  });
  for (const { targetPath } of [request, elsewhere]) {
    await client.node.nodeUnpublishVolume({ volumeId, targetPath });
  }
});

test("volumes are listed page by page", async () => {
  covers("CSI-184", "CSI-185", "CSI-186", "CSI-190", "CSI-191");
  for (const name of ["a", "b", "c"]) await make(name);
  const all = await client.controller.listVolumes({});
  const seen: string[] = [];
  let startingToken = "";
  do {
    const page = await client.controller.listVolumes({ maxEntries: 2, startingToken });
    assert.ok(page.entries.length <= 2);
    seen.push(...page.entries.map(({ volume }) => volume?.volumeId ?? ""));
    startingToken = page.nextToken;
  } while (startingToken !== "");
  assert.deepEqual(
    seen,
    all.entries.map(({ volume }) => volume?.volumeId),
  );
  await assert.rejects(client.controller.listVolumes({ startingToken: "nonsense" }), { codeName: "ABORTED" });
});

test("the old interface is there too: csi.v0 on the same socket", async () => {
  const { accessType } = mount();
  const accessMode = { mode: v0.VolumeCapability_AccessMode_Mode.SINGLE_NODE_WRITER };
  const request = { name: "old", volumeCapabilities: [{ accessType, accessMode }] };
  const { volume } = await client.v0.controller.createVolume(request);
  assert.equal(volume?.id, await make("old"));
  assert.equal((await client.v0.node.nodeGetId({})).nodeId, "node-1");
});

test("random and damaged requests neither break it nor make it blame itself", thorough(), async () => {
  const report = await fuzz(client.endpoint, { folder: join(folder, "fuzz"), requests: 1500, seed: 7 });
  assert.deepEqual(report.findings, []);
  assert.ok((report.codes.OK ?? 0) > 100, JSON.stringify(report.codes));
});
