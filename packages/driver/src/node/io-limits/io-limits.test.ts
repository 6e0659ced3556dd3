import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { createHost, majorMinor } from "@mooring/engine";
import { eventually } from "@mooring/store/testing";
import {
  capability,
  codeOf,
  createVolume,
  failureOf,
  stage,
  startWorld,
  type World,
} from "../../testing/world.ts";
import { ioController } from "./controller.ts";
import { workloadsOf } from "./groups.ts";

const FREE = "rbps=max wbps=max riops=max wiops=max";
const entry = (fsType: string, target: string, superOptions: string[] = []) => ({
  fsType,
  target,
  superOptions,
});

/** Groups of the kernel where it has the controller; else folders with the same files, which keep one line each. */
class Groups {
  readonly root: string;
  readonly #real: boolean;
  readonly #made: string[] = [];

  private constructor(root: string, real: boolean) {
    this.root = root;
    this.#real = real;
  }

  static async open(): Promise<Groups> {
    const found = await ioController(await createHost().mounts.list());
    if ("root" in found) return new Groups(found.root, true);
    const root = await mkdtemp(join(tmpdir(), "mooring-cgroup-"));
    await writeFile(join(root, "cgroup.controllers"), "cpu io memory\n");
    await writeFile(join(root, "cgroup.subtree_control"), "");
    return new Groups(root, false);
  }

  /** As kubelets with systemd name them. */
  async makePod(uid: string): Promise<string> {
    const slice = join(this.root, `mooringtest${process.pid}.slice`);
    const group = join(slice, `mooringtest${process.pid}-pod${uid.replaceAll("-", "_")}.slice`);
    await mkdir(group, { recursive: true });
    this.#made.push(group);
    if (!this.#real) {
      await writeFile(join(slice, "cgroup.subtree_control"), "");
      await writeFile(join(group, "io.max"), "");
    }
    return group;
  }

  async limitsOf(group: string, device: string): Promise<string> {
    const text = await readFile(join(group, "io.max"), "utf8");
    const line = text.split("\n").find((one) => one.startsWith(`${device} `));
    return line === undefined ? FREE : line.slice(device.length + 1);
  }

  async close(): Promise<void> {
    if (!this.#real) return rm(this.root, { recursive: true });
    for (const group of this.#made) await rmdir(group);
    for (const slice of new Set(this.#made.map(dirname))) await rmdir(slice);
  }
}

describe("limits of input and output", () => {
  let world: World;
  let groups: Groups;
  before(async () => {
    groups = await Groups.open();
    world = await startWorld({ cgroupRoot: groups.root });
  });
  after(async () => {
    await world.end();
    await groups.close();
  });

  const modify = (volumeId: string, mutableParameters: Record<string, string>) =>
    world.client.controller.controllerModifyVolume({ volumeId, mutableParameters });
  const publish = async (volumeId: string, stagingTargetPath: string, uid: string) => {
    const targetPath = world.path(`pods/${uid}/volumes/kubernetes.io~csi/pv/mount`);
    await mkdir(dirname(targetPath), { recursive: true });
    const volumeCapability = capability();
    await world.client.node.nodePublishVolume({ volumeId, stagingTargetPath, targetPath, volumeCapability });
    return () => world.client.node.nodeUnpublishVolume({ volumeId, targetPath });
  };
  const deviceOf = async (volumeId: string): Promise<string> => {
    const loop = await world.loopOf(volumeId);
    return majorMinor((await stat(loop?.path ?? "")).rdev);
  };

  test("a pod is limited as its volume says from publication on, changed and lifted at once, and freed after it", async () => {
    const uid = randomUUID();
    const group = await groups.makePod(uid);
    const other = await groups.makePod(randomUUID());
    const volumeId = await createVolume(world, "limited");
    await modify(volumeId, { writeBytesPerSecond: "1048576", readIOPS: "200" });
    const staged = await stage(world, volumeId);
    const device = await deviceOf(volumeId);
    const unpublish = await publish(volumeId, staged.path, uid);
    assert.equal(await groups.limitsOf(group, device), "rbps=max wbps=1048576 riops=200 wiops=max");
    assert.equal(await groups.limitsOf(other, device), FREE);
    await modify(volumeId, { writeBytesPerSecond: "2097152", readIOPS: "max" });
    assert.equal(await groups.limitsOf(group, device), "rbps=max wbps=2097152 riops=max wiops=max");
    await modify(volumeId, { writeBytesPerSecond: "max" });
    assert.equal(await groups.limitsOf(group, device), FREE);
    await modify(volumeId, { writeIOPS: "50" });
    assert.equal(await groups.limitsOf(group, device), "rbps=max wbps=max riops=max wiops=50");
    await unpublish();
    assert.equal(await groups.limitsOf(group, device), FREE);
    await staged.undo();
    await world.client.controller.deleteVolume({ volumeId });
  });

  test("a group that is made after the volume was published is limited, too, also by a driver that was started again", async () => {
    const uid = randomUUID();
    const volumeId = await createVolume(world, "unpublished");
    await modify(volumeId, { readBytesPerSecond: "4096000" });
    const staged = await stage(world, volumeId);
    const device = await deviceOf(volumeId);
    const unpublish = await publish(volumeId, staged.path, uid);
    await world.restart();
    const group = await groups.makePod(uid);
    const limited = "rbps=4096000 wbps=max riops=max wiops=max";
    await eventually("the limit", async () => (await groups.limitsOf(group, device)) === limited);
    await unpublish();
    await staged.undo();
    await world.client.controller.deleteVolume({ volumeId });
  });

  test("limits need somebody to limit, and numbers that make sense", async () => {
    const volumeId = await createVolume(world, "nobody");
    for (const value of ["0", "-1", "1.5", "fast", "9".repeat(16)]) {
      assert.equal(await codeOf(modify(volumeId, { writeIOPS: value })), "INVALID_ARGUMENT", value);
    }
    await modify(volumeId, { writeIOPS: "100" });
    const staged = await stage(world, volumeId);
    const unnamed = {
      ...{ volumeId, stagingTargetPath: staged.path, targetPath: world.path("target") },
      volumeCapability: capability(),
    };
    const failure = await failureOf(world.client.node.nodePublishVolume(unnamed));
    assert.equal(failure.code, "FAILED_PRECONDITION");
    assert.match(failure.message, /names no workload/);
    await staged.undo();
    await world.client.controller.deleteVolume({ volumeId });
  });
});

test("a machine without the controller refuses limits before anything is changed, with the reason", async () => {
  const root = await mkdtemp(join(tmpdir(), "mooring-cgroup-"));
  await writeFile(join(root, "cgroup.controllers"), "cpu memory\n");
  const world = await startWorld({ cgroupRoot: root });
  try {
    const { controller } = world.client;
    const volumeId = await createVolume(world, "here");
    const refused = await failureOf(
      controller.controllerModifyVolume({
        volumeId,
        mutableParameters: { readAheadKiB: "64", readIOPS: "10" },
      }),
    );
    assert.equal(refused.code, "INVALID_ARGUMENT");
    assert.match(refused.message, /cannot limit input and output: .* no io controller/);
    const create = controller.createVolume({
      ...{ name: "limited", volumeCapabilities: [capability()], mutableParameters: { writeIOPS: "10" } },
    });
    assert.equal(await codeOf(create), "INVALID_ARGUMENT");
    assert.equal((await controller.listVolumes({})).entries.length, 1);
    await controller.controllerModifyVolume({ volumeId, mutableParameters: { writeIOPS: "max" } });
  } finally {
    await world.end();
    await rm(root, { recursive: true });
  }
});

test("why a machine has no io controller", async () => {
  const root = await mkdtemp(join(tmpdir(), "mooring-cgroup-"));
  try {
    await writeFile(join(root, "cgroup.controllers"), "cpu\n");
    const why = async (...mounts: ReturnType<typeof entry>[]) => {
      const found = await ioController(mounts);
      return "missing" in found ? found.missing : found.root;
    };
    assert.match(await why(entry("tmpfs", "/sys/fs/cgroup")), /no version 2 hierarchy/);
    assert.match(await why(entry("cgroup2", root)), /has no io controller/);
    const old = entry("cgroup", "/sys/fs/cgroup/blkio", ["rw", "blkio"]);
    assert.match(await why(old, entry("cgroup2", root)), /version 1 hierarchy \(blkio\)/);
    await writeFile(join(root, "cgroup.controllers"), "cpu io\n");
    assert.equal(await why(old, entry("cgroup2", root)), root);
  } finally {
    await rm(root, { recursive: true });
  }
});

test("the workload is what the target path names", () => {
  const uid = "0e2b5fa4-9d1c-4a3a-8f8b-6c8f1b0a7d11";
  assert.deepEqual(workloadsOf(`/var/lib/kubelet/pods/${uid}/volumes/kubernetes.io~csi/pv/mount`), [uid]);
  assert.deepEqual(workloadsOf(`/csi/volumeDevices/publish/pv/${uid}`), [uid]);
  assert.deepEqual(workloadsOf("/mnt/data"), []);
});
