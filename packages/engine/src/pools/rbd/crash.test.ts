import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { LocalStore } from "@mooring/store";
import {
  bundleProgram,
  type CephCluster,
  cephOfFile,
  howMany,
  sample,
  withCeph,
} from "@mooring/store/testing";
import { createHost } from "../../host/create-host.ts";
import { findLeaks } from "../../node/leaks/find-leaks.ts";
import { engineRegistry } from "../../testing/agent.ts";
import { cleanUp, scratch } from "../../testing/scratch.ts";
import { serversAt } from "./export-servers.ts";

const host = createHost();
const withCluster = await withCeph();
const KILLS = howMany({ everyday: 0, full: 1, deep: 1_000 });

/** A folder of a node, and an RBD namespace of its own. */
interface Node {
  dir: string;
  ceph: CephCluster;
  namespace: string;
}

const child = withCluster.skip === false ? await bundle() : "";
const cluster = cephOfFile(after);

async function bundle(): Promise<string> {
  const { path, remove } = await bundleProgram(new URL("../../testing/rbd-crash-child.ts", import.meta.url));
  after(remove);
  return path;
}

async function node(t: TestContext): Promise<Node> {
  const ceph = await cluster();
  return { dir: await scratch(t, host), ceph, namespace: await ceph.namespace() };
}

/** One life; killed after a command for the cluster, as the program says it: `#0` is never reached. */
async function live({ dir, ceph, namespace }: Node, last = "#0"): Promise<unknown> {
  const { conf: path, user, keyring, pool } = ceph;
  const spec = JSON.stringify({ path, rbd: { user, keyring, pool, namespace } });
  const life = spawn(process.execPath, [child, dir, spec, last], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const [code, signal] = await once(life, "exit");
  return signal ?? code;
}

async function assertNothingLeft({ dir, ceph, namespace }: Node): Promise<void> {
  const where = ["--pool", ceph.pool, "--namespace", namespace];
  assert.equal((await ceph.admin("rbd", ...where, "ls")).trim(), "");
  assert.equal((await ceph.admin("rbd", ...where, "trash", "ls", "--all")).trim(), "");
  const below = (path: string): boolean => path.startsWith(`${dir}/`);
  const loops = (await host.loops.list()).filter(({ backingFile }) => below(backingFile));
  const mounts = (await host.mounts.list()).filter(({ target }) => below(target));
  assert.deepEqual([...loops, ...mounts], []);
  for (const id of ["v-p-1", "v-p-2"])
    assert.deepEqual(await serversAt(join(dir, "state", "pools", "p", "images", `${id}.img`)), []);
  const store = await LocalStore.open({ path: join(dir, "store"), registry: engineRegistry() });
  const leaks = await findLeaks({ store, host, stateDir: join(dir, "state") });
  await store.close();
  assert.deepEqual(leaks, []);
}

async function killedAfter(t: TestContext, last: string): Promise<void> {
  const killed = await node(t);
  assert.equal(await live(killed, last), "SIGKILL", `after command ${last}`);
  assert.equal(await live(killed), 0, `the life after the one that ended with command ${last}`);
  await assertNothingLeft(killed);
  await cleanUp(host, killed.dir);
}

test(
  `rbd: killed in ${KILLS} of the places between two commands, the next life ends the work and leaves nothing`,
  withCluster,
  async (t) => {
    const whole = await node(t);
    assert.equal(await live(whole), 0);
    await assertNothingLeft(whole);
    const commands = Number(await readFile(join(whole.dir, "commands"), "utf8"));
    assert.ok(commands > 30, `only ${commands} commands`);
    const places = Array.from({ length: commands - 1 }, (_, index) => index + 1);
    const chosen = sample(places, { everyday: 0, full: KILLS });
    for (const last of chosen) await killedAfter(t, `#${last}`);
    t.diagnostic(`killed after commands ${chosen.join(", ")} of ${commands}`);
  },
);

// The last image of a chain: with it go those that were only kept for it.
for (const last of ["trash mv#3", "trash rm#3"])
  test(`rbd: killed after ${last}, the next life empties Ceph's trash`, withCluster, (t) =>
    killedAfter(t, last),
  );
