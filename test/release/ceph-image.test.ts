import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { cephOfFile, withCeph } from "@mooring/store/testing";

const ROOT = join(import.meta.dirname, "../..");
const execute = promisify(execFile);
const withCluster = await withCeph();
const cluster = cephOfFile(after);

test(
  "an image made --with-ceph has the clients that a pool in a Ceph cluster needs",
  withCluster,
  async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "mooring-image-"));
    t.after(() => rm(folder, { recursive: true }));
    const root = join(folder, "root");
    await execute(process.execPath, [join(ROOT, "scripts/image.mjs"), "--with-ceph", "--root", root]);
    const ceph = await cluster();
    await mkdir(join(root, "etc/mooring/ceph"), { recursive: true });
    const [conf, keyring] = ["/etc/mooring/ceph/ceph.conf", "/etc/mooring/ceph/keyring"];
    await copyFile(ceph.conf, join(root, conf));
    await copyFile(ceph.keyring, join(root, keyring));
    const inside = async (program: string, ...args: string[]): Promise<string> => {
      const whole = [root, program, "--conf", conf, "--id", ceph.user, "--keyring", keyring, ...args];
      return (await execute("chroot", whole)).stdout;
    };
    const df = JSON.parse(await inside("ceph", "df", "detail", "--format", "json"));
    assert.deepEqual(
      df.pools.map(({ name }: { name: string }) => name).filter((name: string) => name === ceph.pool),
      [ceph.pool],
    );
    await inside("rbd", "create", "--size", "8M", `${ceph.pool}/made`);
    assert.match(await ceph.admin("rbd", "ls", ceph.pool), /^made$/m);
    const { stdout } = await execute("chroot", [root, "modprobe", "--version"]);
    assert.match(stdout, /kmod/);
  },
);
