// What the steps on a real Kubernetes take for traces of Mooring on a machine, with lines and devices as the kernel shows them.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rename, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import {
  attachedLoops,
  deviceOf,
  loopsOfMooring,
  loopsOfVolumes,
  mountsOfMooring,
  mountsOfVolumes,
} from "./real/support/traces.mjs";

const execute = promisify(execFile);

const KUBELET = "/var/lib/kubelet";
const CSI = `${KUBELET}/plugins/kubernetes.io/csi`;
const [MOUNTED, RAW] = ["e35b851f-d401-4508-a10e-aa3138630370", "1997f3ae-422d-409f-9a63-41f805217105"];
const MOUNTED_PV = "pvc-0974787d-adb8-4a32-8ea4-3b3a72a7eb7d";
const RAW_PV = "pvc-33fa3695-45aa-40e6-bc9b-cc425e11bc41";
const HASH = "4f746cfd92d34438b8dcbb23d7e2fed88b6eecb968cc9edd546d9c8d3a8b0251";
const XFS = "- xfs /dev/loop1 rw,nouuid,inode64,logbufs=8,logbsize=32k,noquota";
const DEV = "- devtmpfs devtmpfs rw,size=12334432k,nr_inodes=3083608,mode=755";

/** Lines of a node's mountinfo, of a mounted and a raw volume. */
const VOLUMES = {
  staged: `145 65 7:1 / ${CSI}/csi.mooring.dev/${HASH}/globalmount rw,relatime shared:33 ${XFS}`,
  published: `276 65 7:1 / ${KUBELET}/pods/${MOUNTED}/volumes/kubernetes.io~csi/${MOUNTED_PV}/mount rw,relatime shared:33 ${XFS}`,
  "folder of a volume": `277 65 7:1 /sub ${KUBELET}/pods/${MOUNTED}/volume-subpaths/${MOUNTED_PV}/main/0 rw,relatime shared:33 ${XFS}`,
  "raw, published": `112 65 0:6 /loop2 ${CSI}/volumeDevices/publish/${RAW_PV}/${RAW} rw,relatime shared:31 ${DEV}`,
  "raw, mapped": `130 65 0:6 /loop2 ${CSI}/volumeDevices/${RAW_PV}/dev/${RAW} rw,relatime shared:31 ${DEV}`,
  "raw, of the pod": `131 65 0:6 /loop2 ${KUBELET}/pods/${RAW}/volumeDevices/kubernetes.io~csi/${RAW_PV} rw,relatime shared:31 ${DEV}`,
};
const POOL = `148 65 7:0 / /var/lib/mooring/pools/default-worker-1/mnt rw,noatime shared:35 - xfs /dev/loop0 rw,nouuid,discard`;
const OTHERS = [
  "65 43 254:0 /tmp/mooring-kubernetes-1/c/machine/var/lib /var/lib rw,relatime shared:1 - ext4 /dev/vda rw,discard",
  `94 65 0:55 / ${KUBELET}/pods/${MOUNTED}/volumes/kubernetes.io~projected/kube-api-access-whj99 rw,relatime shared:27 - tmpfs tmpfs rw,size=24683656k,noswap`,
  `275 43 7:1 / /tmp/mooring-kubernetes-1/c/machine${KUBELET}/pods/x/volumes/kubernetes.io~csi/y/mount rw,relatime shared:33 ${XFS}`,
  "",
];

test("a volume that a kubelet has mounted or mapped is seen, whether its path names the driver or not", () => {
  for (const [what, line] of Object.entries(VOLUMES)) {
    assert.deepEqual(mountsOfMooring([...OTHERS, line]), [line], what);
    assert.deepEqual(mountsOfVolumes([...OTHERS, line]), [line], what);
  }
});

test("a pool is of Mooring and of no volume, and what others have mounted is neither", () => {
  assert.deepEqual(mountsOfMooring([...OTHERS, POOL]), [POOL]);
  assert.deepEqual(mountsOfVolumes([...OTHERS, POOL]), []);
});

/** A machine whose files are below a folder of ours, as those of another mount namespace are. */
async function machine(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), "mooring-traces-"));
  const undo: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true })];
  t.after(async () => {
    for (const step of undo.reverse()) await step();
  });
  const stateFolder = join(folder, "worker-1");
  const pool = join(stateFolder, "pools/default");
  await mkdir(join(pool, "mnt"), { recursive: true });
  return { undo, folder, pool, stateFolder, name: "worker-1", at: (path: string) => path };
}

type Machine = Awaited<ReturnType<typeof machine>>;

/** A device of a new file; it is detached when the test has ended. */
async function attach({ undo }: Machine, file: string, size: number): Promise<string> {
  await writeFile(file, "");
  await truncate(file, size);
  const { stdout } = await execute("losetup", ["--find", "--show", file]);
  const device = stdout.trim();
  undo.push(() => execute("losetup", ["--detach", device]).catch(() => {}));
  return device;
}

/** A file system of its own for a device; it is unmounted when the test has ended. */
async function mount({ undo }: Machine, device: string, folder: string): Promise<void> {
  await execute("mkfs.ext4", ["-q", device]);
  await execute("mount", [device, folder]);
  undo.push(() => execute("umount", ["--lazy", folder]).catch(() => {}));
}

async function names(found: Promise<{ name: string }[]>): Promise<string[]> {
  return (await found).map(({ name }) => name).sort();
}

test("devices of a pool and of images in it are seen, also when their files or mounts are gone, and no others", async (t) => {
  const here = await machine(t);
  const pool = await attach(here, join(here.pool, "pool.img"), 64 << 20);
  const other = await attach(here, join(here.folder, "pool.img"), 1 << 20);
  await mount(here, pool, join(here.pool, "mnt"));
  const image = await attach(here, join(here.pool, "mnt/v-1.img"), 1 << 20);
  const ofMooring = async () => names(loopsOfMooring(await attachedLoops(), here));
  const ofVolumes = async () => names(loopsOfVolumes(await attachedLoops(), here));
  assert.deepEqual(await ofMooring(), [pool, image].sort());
  assert.deepEqual(await ofVolumes(), [image]);
  await rm(join(here.pool, "mnt/v-1.img"));
  await execute("umount", ["--lazy", join(here.pool, "mnt")]);
  await rm(join(here.pool, "pool.img"));
  const shown = (await attachedLoops()).find(({ name }: { name: string }) => name === image);
  assert.equal(shown?.file, "/v-1.img (deleted)", "as the kernel shows it without its mount");
  assert.deepEqual(await ofMooring(), [pool, image].sort());
  await execute("losetup", ["--detach", image]);
  assert.deepEqual(await ofVolumes(), []);
  assert.deepEqual(await ofMooring(), [pool]);
  await execute("losetup", ["--detach", pool]);
  assert.deepEqual(await ofMooring(), []);
  assert.ok((await attachedLoops()).some(({ name }: { name: string }) => name === other));
});

test("an image in a folder that all machines share is known by the device that the folder is on", async (t) => {
  const here = await machine(t);
  const disk = await attach(here, join(here.folder, "disk"), 64 << 20);
  const shared = join(here.folder, "shared");
  await mkdir(shared);
  await mount(here, disk, shared);
  const image = await attach(here, join(shared, "v-1.img"), 1 << 20);
  await rm(join(shared, "v-1.img"));
  const loops = await attachedLoops();
  assert.deepEqual(await names(loopsOfMooring(loops, here)), []);
  assert.deepEqual(await names(loopsOfMooring(loops, here, [await deviceOf(shared)])), [image]);
});

test("a device of another machine's file with the same path is not this one's", async (t) => {
  const here = await machine(t);
  const file = join(here.pool, "pool.img");
  const device = await attach(here, file, 1 << 20);
  assert.deepEqual(await names(loopsOfMooring(await attachedLoops(), here)), [device]);
  const loops = await attachedLoops();
  await rename(file, join(here.folder, "elsewhere"));
  await writeFile(file, "another file");
  assert.deepEqual(await names(loopsOfMooring(loops, here)), []);
});

test("the device by which a kubelet knows that a raw volume is in use is seen", async (t) => {
  const here = await machine(t);
  const file = `${CSI}/volumeDevices/${RAW_PV}/dev/${RAW}`;
  const mapped = join(here.folder, "mapped");
  await writeFile(mapped, "");
  const at = (path: string) => (path === file ? mapped : path);
  const loop = { name: "/dev/loop3", number: "7:3", file, on: "0:6" };
  const found = (inode: string) => names(loopsOfMooring([{ ...loop, inode }], { ...here, at }));
  const { ino } = await stat(mapped);
  assert.deepEqual(await found(String(ino)), ["/dev/loop3"]);
  assert.deepEqual(await found(String(ino + 1)), []);
});
