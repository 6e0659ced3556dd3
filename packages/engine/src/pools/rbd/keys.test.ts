import assert from "node:assert/strict";
import { mkdir, readFile, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { cephOfFile, withCeph } from "@mooring/store/testing";
import { EngineError } from "../../errors.ts";
import { createHost } from "../../host/create-host.ts";
import { MIB, scratch } from "../../testing/scratch.ts";
import { withoutProgram } from "../../testing/without-program.ts";
import { createPool } from "../create-pool.ts";
import { RbdCommands } from "./commands.ts";

const host = createHost({ server: true });
const withCluster = await withCeph();
const cluster = cephOfFile(after);
const CAPS = ["mon", "profile rbd", "osd", "profile rbd", "mgr", "profile rbd"];

/** A folder as the kubelet mounts a Secret: files are links through `..data`, which is exchanged for another one at once. */
class MountedSecret {
  readonly keyring: string;
  readonly #folder: string;
  #version = 0;

  constructor(folder: string) {
    this.#folder = folder;
    this.keyring = join(folder, "keyring");
  }

  async put(text: string): Promise<void> {
    const version = `..version-${++this.#version}`;
    await mkdir(join(this.#folder, version), { recursive: true });
    await writeFile(join(this.#folder, version, "keyring"), text, { mode: 0o400 });
    await symlink(version, join(this.#folder, "..data_tmp"));
    await rename(join(this.#folder, "..data_tmp"), join(this.#folder, "..data"));
    if (this.#version === 1) await symlink("..data/keyring", this.keyring);
  }
}

/** A user of its own, whose key is in a Secret, and a pool that is opened with it. */
async function withSecret(t: TestContext, name: string) {
  const dir = await scratch(t, host);
  const ceph = await cluster();
  const user = `secret-${name}`;
  const newKey = async (): Promise<string> => {
    const file = join(dir, "keyring");
    const caps = CAPS.flatMap((word, index) => (index % 2 === 0 ? ["--cap", word] : [word]));
    await host.exec.run("ceph-authtool", [
      ...["--create-keyring", file, "--gen-key", "--name", `client.${user}`],
      ...caps,
    ]);
    await ceph.admin("ceph", "auth", "import", "-i", file);
    return readFile(file, "utf8");
  };
  const secret = new MountedSecret(join(dir, "secret"));
  const { conf, pool } = ceph;
  const place = { conf, user, keyring: secret.keyring, pool, namespace: await ceph.namespace() };
  const made = createPool("rbd", { host, path: join(dir, "p"), rbd: { nodeID: "node-1", place } });
  t.after(() => made.close().catch(() => {}));
  return { dir, place, pool: made, secret, newKey };
}

const keyOf = (keyring: string): string => /key = (\S+)/.exec(keyring)?.[1] ?? assert.fail("no key");

test(
  "rbd: a key that is exchanged in the Secret counts from the next command on, and what is open stays open",
  withCluster,
  async (t) => {
    const { dir, place, pool, secret, newKey } = await withSecret(t, "exchanged");
    await secret.put(await newKey());
    await pool.open();
    const device = await pool.devices.attach(await pool.create("v-p-1", 10 * MIB));
    t.after(() => pool.devices.detach(device).catch(() => {}));
    const next = await newKey();
    // Whoever is connected has a ticket of the cluster for an hour; nobody gets one with the old key.
    const { clock } = host;
    const programs = new RbdCommands({ exec: createHost().exec, clock, place, folder: join(dir, "p") });
    programs.reuse();
    await assert.rejects(programs.rbd(["ls"]), (error: unknown) => {
      assert.ok(error instanceof EngineError && error.code === "PERMISSION_DENIED", String(error));
      return true;
    });
    await secret.put(next);
    await programs.rbd(["ls"]);
    await pool.create("v-p-2", 10 * MIB);
    await host.exec.run("dd", ["if=/dev/urandom", `of=${device.path}`, "bs=1M", "count=2", "oflag=direct"]);
    await pool.devices.detach(device);
    const again = await pool.devices.attach((await pool.find("v-p-1")) ?? assert.fail("v-p-1"));
    await pool.devices.detach(again);
  },
);

test(
  "rbd: a Secret may have the key alone, and what is no key is refused and not repeated",
  withCluster,
  async (t) => {
    const { pool, secret, newKey } = await withSecret(t, "alone");
    const key = keyOf(await newKey());
    const refuses = (code: string) => (error: unknown) => {
      assert.ok(error instanceof EngineError, String(error));
      assert.equal(error.code, code, error.stack);
      const said = `${error.stack} ${error.hint} ${JSON.stringify(error)}`;
      assert.ok(!said.includes(key.slice(0, 30)), said);
      return true;
    };
    await assert.rejects(pool.open(), refuses("FAILED_PRECONDITION"));
    for (const wrong of ["", `userKey: ${key}`, `${key} ${key}`, `"${key}"`]) {
      await secret.put(wrong);
      await assert.rejects(pool.open(), refuses("FAILED_PRECONDITION"));
    }
    await secret.put(`${key}\n`);
    await pool.open();
    await pool.create("v-p-1", 10 * MIB);
    await secret.put(`${key.slice(0, 38)}*`);
    await assert.rejects(pool.create("v-p-2", 10 * MIB), refuses("INTERNAL"));
    await secret.put(key);
    await pool.create("v-p-2", 10 * MIB);
  },
);

test(
  "rbd: where neither the kernel nor a program opens images, a device is refused with both",
  withCluster,
  async (t) => {
    const { dir, pool, secret, newKey } = await withSecret(t, "no-way");
    await secret.put(await newKey());
    await pool.open();
    const volume = await pool.create("v-p-1", 10 * MIB);
    await withoutProgram(t, join(dir, "programs"), "qemu-storage-daemon");
    await assert.rejects(pool.devices.attach(volume), (error: unknown) => {
      assert.ok(error instanceof EngineError && error.code === "FAILED_PRECONDITION", String(error));
      assert.match(
        error.message,
        /image mooring\.v-p-1 cannot be opened .*kernel has no rbd, and qemu-storage-daemon is not installed/,
      );
      assert.match(error.hint ?? "", /modprobe rbd/);
      return true;
    });
  },
);
