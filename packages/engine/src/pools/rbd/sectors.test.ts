import assert from "node:assert/strict";
import { mkdir, readFile, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { cephOfFile, withCeph } from "@mooring/store/testing";
import { EngineError } from "../../errors.ts";
import { createHost } from "../../host/create-host.ts";
import { MIB, scratch } from "../../testing/scratch.ts";
import { createPool } from "../create-pool.ts";

const host = createHost({ server: true });
const withCluster = await withCeph();
const cluster = cephOfFile(after);
const SIZE = 320 * MIB;

test(
  "rbd: XFS of 512-byte sectors is mounted, and so are its copies, what replaces it, and what has grown",
  withCluster,
  async (t) => {
    const dir = await scratch(t, host);
    const ceph = await cluster();
    const { conf, user, keyring, pool: cephPool } = ceph;
    const namespace = await ceph.namespace();
    const where = `${cephPool}/${namespace}`;
    const file = join(dir, "image");
    await writeFile(file, "");
    await truncate(file, SIZE);
    await host.exec.run("mkfs.xfs", ["-q", "-s", "size=512", file]);
    await ceph.admin("rbd", "import", "--no-progress", file, `${where}/mooring.v-p-1`);
    const place = { conf, user, keyring, pool: cephPool, namespace };
    const pool = createPool("rbd", { host, path: join(dir, "p"), rbd: { nodeID: "node-1", place } });
    t.after(() => pool.close().catch(() => {}));
    await pool.open();

    const mountpoint = join(dir, "mnt");
    await mkdir(mountpoint);
    /** What the file said before it says this. */
    const exchange = async (id: string, text: string): Promise<string> => {
      const image = (await pool.find(id)) ?? assert.fail(`no ${id}`);
      const device = await pool.devices.attach(image);
      try {
        assert.equal(device.directIO, true);
        await host.exec.run("mount", ["-o", "nouuid", device.path, mountpoint]);
        const file = join(mountpoint, "file");
        const before = await readFile(file, "utf8").catch(() => "");
        await writeFile(file, text, { flush: true });
        return before;
      } finally {
        await host.exec.try("umount", [mountpoint]);
        await pool.devices.detach(device);
      }
    };
    await assert.rejects(exchange("v-p-1", "none"), /mount/, "sectors of 4096 bytes are the default");
    await ceph.admin("rbd", "image-meta", "set", `${where}/mooring.v-p-1`, "mooring.sector-size", "512");
    assert.equal(await exchange("v-p-1", "one"), "");
    await pool.clone("v-p-1", "s-p-1", SIZE);
    assert.equal(await exchange("v-p-1", "two"), "one");
    const [copies] = [[{ source: "v-p-1", id: "s-p-2" }]];
    const group = await pool.beginCopy(copies);
    await group.copy();
    await group.finish();
    await pool.clone("s-p-2", "v-p-2", SIZE + 16 * MIB);
    assert.equal(await exchange("v-p-2", "copy"), "two");
    await pool.clone("v-p-2", "v-p-3", SIZE + 16 * MIB);
    await ceph.admin("rbd", "flatten", "--no-progress", `${where}/mooring.v-p-3`);
    assert.equal(await exchange("v-p-3", "flat"), "copy");
    await pool.replace("s-p-1", "v-p-1", SIZE);
    assert.equal(await exchange("v-p-1", "three"), "one");

    const image = await pool.grow("v-p-1", SIZE + 64 * MIB);
    const device = await pool.devices.attach(image);
    assert.equal(device.sizeBytes, SIZE + 64 * MIB);
    assert.equal((await pool.devices.attach(image)).path, device.path, "the device that it has");
    await pool.devices.detach(device);
    await assert.rejects(
      pool.devices.withhold(image),
      (error) => error instanceof EngineError && error.code === "FAILED_PRECONDITION",
      "its first sector could not be withheld",
    );
  },
);

test("rbd: another size of sectors is refused", withCluster, async (t) => {
  const dir = await scratch(t, host);
  const ceph = await cluster();
  const { conf, user, keyring, pool: cephPool } = ceph;
  const namespace = await ceph.namespace();
  const place = { conf, user, keyring, pool: cephPool, namespace };
  const pool = createPool("rbd", { host, path: join(dir, "p"), rbd: { nodeID: "node-1", place } });
  t.after(() => pool.close().catch(() => {}));
  await pool.open();
  const image = await pool.create("v-p-1", 8 * MIB);
  const name = `${cephPool}/${namespace}/mooring.v-p-1`;
  await ceph.admin("rbd", "image-meta", "set", name, "mooring.sector-size", "1024");
  await assert.rejects(pool.devices.attach(image), /mooring.sector-size "1024"/);
});
