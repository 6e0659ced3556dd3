import assert from "node:assert/strict";
import { mkdir, readFile, stat, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { v1 } from "@mooring/csi";
import { covers, everyday, thorough } from "@mooring/store/testing";
import { host, NODE, startDriver } from "./support/driver.ts";
import { gate } from "./support/gate.ts";
import {
  attach,
  type CapabilityChoice,
  type CapabilityInit,
  capability,
  codeOf,
  codesOf,
  detach,
  fails,
  MIB,
  remove,
  staged,
  volumeId,
} from "./support/volumes.ts";

const driver = await startDriver();
const mountsAt = async (path: string) => (await host.mounts.at(path)).length;

test("staging mounts the volume here, once, however often it is asked", everyday(), async () => {
  covers("CSI-246", "CSI-247", "CSI-251");
  const volume = await staged(driver, "once", { choice: { fsType: "ext4" } });
  const again = () =>
    driver.node.nodeStageVolume({
      ...{ volumeId: volume.id, stagingTargetPath: volume.staging },
      volumeCapability: capability({ fsType: "ext4" }),
    });
  await again();
  await again();
  const mounts = await host.mounts.at(volume.staging);
  assert.deepEqual(
    mounts.map(({ fsType }) => fsType),
    ["ext4"],
  );
  await volume.undo();
});

test("the rows of NodeStageVolume's error table", everyday(), async () => {
  covers("CSI-256", "CSI-257", "CSI-259", "CSI-029", "CSI-031");
  const id = await volumeId(driver, "rows");
  const staging = driver.path("rows");
  const stage = (more: object = {}) =>
    driver.node.nodeStageVolume({
      ...{ volumeId: id, stagingTargetPath: staging, volumeCapability: capability(), ...more },
    });
  await fails("NOT_FOUND", stage({ volumeId: "v-none" }), /v-none/);
  await fails("INVALID_ARGUMENT", stage({ volumeId: "" }), /volume_id/);
  await fails("INVALID_ARGUMENT", stage({ stagingTargetPath: "" }), /staging_target_path/);
  await fails("INVALID_ARGUMENT", stage({ stagingTargetPath: "relative" }), /absolute/);
  await fails("INVALID_ARGUMENT", stage({ stagingTargetPath: "/etc" }), /\/etc/);
  await fails("INVALID_ARGUMENT", stage({ volumeCapability: undefined }), /volume_capability/);
  await fails("FAILED_PRECONDITION", stage(), /ControllerPublishVolume/);
  await attach(driver, id);
  await stage();
  await fails(
    "ALREADY_EXISTS",
    stage({ volumeCapability: capability({ fsType: "ext4", mountFlags: ["noexec"] }) }),
    /another capability/,
  );
  await fails("FAILED_PRECONDITION", stage({ stagingTargetPath: driver.path("second") }), /staged at/);
  assert.equal(await mountsAt(staging), 1);
  await driver.node.nodeUnstageVolume({ volumeId: id, stagingTargetPath: staging });
  await detach(driver, id);
  await remove(driver, id);
});

test("unstaging undoes it, repeats are OK, an unknown volume is NOT_FOUND", everyday(), async () => {
  covers("CSI-260", "CSI-263", "CSI-265");
  const volume = await staged(driver, "undone");
  const unstage = (more: object = {}) =>
    driver.node.nodeUnstageVolume({ volumeId: volume.id, stagingTargetPath: volume.staging, ...more });
  assert.equal(await mountsAt(volume.staging), 1);
  await unstage();
  await unstage();
  assert.equal(await mountsAt(volume.staging), 0);
  await unstage({ stagingTargetPath: driver.path("never-staged") });
  await fails("NOT_FOUND", unstage({ volumeId: "v-none" }), /v-none/);
  await fails("INVALID_ARGUMENT", unstage({ stagingTargetPath: "" }), /staging_target_path/);
  await volume.undo();
});

test(
  "each file system, and ours when none is named, keeps data over detach and restart",
  thorough(),
  async () => {
    covers("CSI-084", "CSI-085");
    for (const fsType of ["", "ext4", "xfs", "btrfs"]) {
      const size = 320n * MIB;
      const volume = await staged(driver, `fs ${fsType}`, { choice: { fsType }, size });
      const [mount] = await host.mounts.at(volume.staging);
      assert.equal(mount?.fsType, fsType === "" ? "xfs" : fsType);
      await writeFile(join(volume.staging, "kept"), fsType);
      await driver.node.nodeUnstageVolume({ volumeId: volume.id, stagingTargetPath: volume.staging });
      await detach(driver, volume.id);
      await driver.restart();
      const again = await staged(driver, `fs ${fsType}`, { choice: { fsType }, size });
      assert.equal(await readFile(join(again.staging, "kept"), "utf8"), fsType);
      await again.undo();
    }
  },
);

test(
  "mount flags are applied; one that is not allowed is refused without being repeated; 4 KiB is their limit",
  everyday(),
  async () => {
    covers("CSI-086");
    const choice: CapabilityChoice = { fsType: "ext4", mountFlags: ["noexec", "nodiratime"] };
    const volume = await staged(driver, "flags", { choice });
    const [mount] = await host.mounts.at(volume.staging);
    assert.ok(mount?.options.includes("noexec"), mount?.options.join());
    await volume.undo();
    const flags = (...mountFlags: string[]) =>
      driver.controller.createVolume({ name: "bad flags", volumeCapabilities: [capability({ mountFlags })] });
    await fails("INVALID_ARGUMENT", flags("x".repeat(5000)), /4096/);
    await fails("INVALID_ARGUMENT", flags(...Array.from({ length: 5 }, () => "y".repeat(1000))), /4096/);
    const secret = await staged(driver, "secret flags");
    const stage = (...mountFlags: string[]) =>
      driver.node.nodeStageVolume({
        ...{ volumeId: secret.id, stagingTargetPath: secret.staging },
        volumeCapability: capability({ mountFlags }),
      });
    const message = await fails("INVALID_ARGUMENT", stage("bind", "password=planted-flag"));
    const rules: readonly [string, RegExp][] = [
      ["", /is empty/],
      ["--planted-flag", /begins with "-"/],
      ["planted-flag\u0007", /control characters/],
      ["ro,X-mount.planted-flag", /another mount/],
    ];
    for (const [flag, rule] of rules) {
      const output = await fails("INVALID_ARGUMENT", stage("noatime", flag), rule);
      assert.match(output, /mount_flags\[1\].*mount\(8\)/s);
      assert.doesNotMatch(output, /planted-flag/);
    }
    assert.match(message, /mount_flags\[0\] asks for another mount .*Give options of the file system/s);
    assert.doesNotMatch(message, /planted-flag/);
    assert.doesNotMatch(driver.output, /planted-flag/);
    await secret.undo();
  },
);

test("while an mkfs runs the same call joins it and any other is ABORTED", thorough(), async () => {
  covers("CSI-258", "CSI-266", "CSI-289", "CSI-296", "CSI-020");
  const mkfs = await gate(driver.folder, "mkfs.ext4", "mke2fs");
  await driver.restart({ PATH: mkfs.path });
  const id = await volumeId(driver, "slow");
  await attach(driver, id);
  const staging = driver.path("slow");
  await mkdir(staging);
  const at = { volumeId: id, stagingTargetPath: staging };
  const stage = () => driver.node.nodeStageVolume({ ...at, volumeCapability: capability() });
  const first = codesOf(stage());
  await mkfs.reached();
  const joined = codesOf(stage());
  const other = { ...at, targetPath: driver.path("slow-target"), volumeCapability: capability() };
  await fails("ABORTED", driver.node.nodePublishVolume(other), /NodeStageVolume.*under way/);
  await fails("ABORTED", driver.node.nodeUnstageVolume(at), /NodeStageVolume/);
  await fails(
    "ABORTED",
    driver.node.nodeStageVolume({ ...at, volumeCapability: capability({ mountFlags: ["noexec"] }) }),
    /under way/,
  );
  await fails(
    "ABORTED",
    driver.node.nodeUnpublishVolume({ volumeId: id, targetPath: other.targetPath }),
    /under way/,
  );
  await mkfs.open();
  assert.deepEqual([...(await first), ...(await joined)], ["OK", "OK"]);
  assert.equal(await mountsAt(staging), 1);
  await driver.node.nodeUnstageVolume(at);
  await detach(driver, id);
  await remove(driver, id);
});

test(
  "a client that disappears while an mkfs runs leaves no half file system: its retry completes",
  thorough(),
  async () => {
    covers("CSI-258", "CSI-069");
    const slow = join(driver.folder, "second");
    await mkdir(slow);
    const mkfs = await gate(slow, "mkfs.ext4", "mke2fs");
    await driver.restart({ PATH: mkfs.path });
    const id = await volumeId(driver, "left");
    await attach(driver, id);
    const at = { volumeId: id, stagingTargetPath: driver.path("left"), volumeCapability: capability() };
    const stop = new AbortController();
    const call = codeOf(driver.node.nodeStageVolume(at, { signal: stop.signal }));
    await mkfs.reached();
    stop.abort();
    assert.equal(await call, "CANCELLED");
    await fails("ABORTED", driver.node.nodeUnstageVolume(at), /NodeStageVolume/);
    await mkfs.open();
    let code = await codeOf(driver.node.nodeStageVolume(at));
    while (code === "ABORTED" || code === "CANCELLED") code = await codeOf(driver.node.nodeStageVolume(at));
    assert.equal(code, "OK");
    await writeFile(join(at.stagingTargetPath, "file"), "works");
    await driver.node.nodeUnstageVolume(at);
    await detach(driver, id);
    await remove(driver, id);
  },
);

test("growing in use: the file system has the new size while files are open", everyday(), async () => {
  const choice = { fsType: "xfs" };
  const volume = await staged(driver, "online", { choice, size: 320n * MIB });
  const capacityRange = { requiredBytes: 512n * MIB };
  const grown = await driver.controller.controllerExpandVolume({ volumeId: volume.id, capacityRange });
  assert.equal(grown.nodeExpansionRequired, true);
  const expand = (more: object = {}) =>
    driver.node.nodeExpandVolume({ volumeId: volume.id, volumePath: volume.staging, capacityRange, ...more });
  assert.equal((await expand()).capacityBytes, 512n * MIB);
  assert.equal((await expand()).capacityBytes, 512n * MIB);
  await fails(
    "OUT_OF_RANGE",
    expand({ capacityRange: { requiredBytes: 1024n * MIB } }),
    /ControllerExpandVolume/,
  );
  await fails("NOT_FOUND", expand({ volumePath: "/proc" }), /\/proc/);
  await fails("NOT_FOUND", expand({ volumeId: "v-none" }), /v-none/);
  await fails("INVALID_ARGUMENT", expand({ volumePath: "" }), /volume_path/);
  await volume.undo();
});

const BAD_USES: readonly [string, CapabilityChoice, RegExp][] = [
  ["another kind of access", { access: "block" }, /mount access, not for block/],
  ["another file system", { fsType: "ext4" }, /xfs, not ext4/],
  ["a mode for several nodes", { mode: "MULTI_NODE_MULTI_WRITER" }, /MULTI_NODE_MULTI_WRITER.*for one/],
];

test(
  "growing with a volume_capability that the volume does not have is INVALID_ARGUMENT, on the controller and on the node, and nothing grows",
  everyday(),
  async () => {
    const volume = await staged(driver, "uses", { choice: { fsType: "xfs" }, size: 320n * MIB });
    const at = { volumeId: volume.id, capacityRange: { requiredBytes: 384n * MIB } };
    const grow = (volumeCapability: CapabilityInit) =>
      driver.controller.controllerExpandVolume({ ...at, volumeCapability });
    const expand = (volumeCapability: CapabilityInit) =>
      driver.node.nodeExpandVolume({ ...at, volumePath: volume.staging, volumeCapability });
    for (const [what, choice, text] of BAD_USES) {
      const message = await fails("INVALID_ARGUMENT", grow(capability(choice)), text);
      assert.match(message, /volume_capability/, what);
    }
    const { volume: same } = await driver.controller.controllerGetVolume({ volumeId: volume.id });
    assert.equal(same?.capacityBytes, 320n * MIB);
    assert.equal((await grow(capability({ fsType: "xfs" }))).capacityBytes, 384n * MIB);
    const { blocks, bsize } = await statfs(volume.staging);
    for (const [what, choice, text] of BAD_USES) {
      const message = await fails("INVALID_ARGUMENT", expand(capability(choice)), text);
      assert.match(message, /volume_capability/, what);
    }
    const unset = { accessType: { case: "mount" as const, value: {} } };
    await fails("INVALID_ARGUMENT", expand(unset), /access_mode/);
    const after = await statfs(volume.staging);
    assert.equal(after.blocks * after.bsize, blocks * bsize);
    assert.equal((await expand(capability({ fsType: "xfs" }))).capacityBytes, 384n * MIB);
    await volume.undo();
  },
);

test(
  "a volume for both kinds of access grows on the node for the one that is in use there",
  everyday(),
  async () => {
    const block = capability({ access: "block" });
    const volumeCapabilities = [capability({ fsType: "xfs" }), block];
    const volume = await staged(driver, "both uses", { volumeCapabilities, size: 320n * MIB });
    const at = { volumeId: volume.id, volumePath: volume.staging };
    const other = driver.node.nodeExpandVolume({ ...at, volumeCapability: block });
    await fails("INVALID_ARGUMENT", other, /volume_capability is for block access.*for mount access/);
    await driver.node.nodeExpandVolume({ ...at, volumeCapability: capability() });
    await volume.undo();
  },
);

test("the node: its id, its limit, its place, its capabilities", everyday(), async () => {
  covers("CSI-302", "CSI-303", "CSI-305", "CSI-306", "CSI-307", "CSI-021");
  const info = await driver.node.nodeGetInfo({});
  assert.equal(info.nodeId, NODE);
  assert.ok(info.maxVolumesPerNode >= 0n);
  assert.equal(Object.values(info.accessibleTopology?.segments ?? {}).join(), NODE);
  const { capabilities } = await driver.node.nodeGetCapabilities({});
  const known = capabilities.map(({ type }) => (type.case === "rpc" ? Number(type.value.type) : -1));
  const all = v1.NodeServiceCapability_RPC_Type;
  assert.ok(known.includes(1) && known.every((number) => number > 0 && number in all), known.join());
  assert.equal((await stat(driver.socket)).isSocket(), true);
});
