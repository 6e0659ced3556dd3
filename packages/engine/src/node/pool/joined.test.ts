import assert from "node:assert/strict";
import { rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { eventually, getIfAny, LocalStore, silentLogger } from "@mooring/store";
import { cephOfFile, endAtRest, withCeph } from "@mooring/store/testing";
import { MOORING_API_VERSION } from "../../api/names.ts";
import { NodeAgents } from "../../api/node-agent.ts";
import { type Pool, Pools } from "../../api/pool.ts";
import { Volumes } from "../../api/volume.ts";
import { startArbiter } from "../../cluster/arbiter/index.ts";
import { createHost } from "../../host/create-host.ts";
import { engineRegistry, POOL, until, volumeObject } from "../../testing/agent.ts";
import { MIB, scratch } from "../../testing/scratch.ts";
import { addTicket } from "../../tickets/tickets.ts";
import { startAgent } from "../index.ts";

const withCluster = await withCeph();
const cluster = cephOfFile(after);

const poolObject = (spec: Pool["spec"]): Pool => ({
  apiVersion: MOORING_API_VERSION,
  kind: "Pool",
  metadata: { name: POOL },
  spec,
});

/** A store, and nodes that were started with no shared pool. */
async function nodes(t: TestContext, ...names: string[]): Promise<{ store: LocalStore; dir: string }> {
  const host = createHost();
  const stop = new AbortController();
  const running: Promise<void>[] = [];
  t.after(async () => {
    await endAtRest(async () => {
      stop.abort();
      await Promise.all(running);
      await store.close();
    });
  });
  const dir = await scratch(t, host);
  const store = await LocalStore.open({ path: join(dir, "store"), registry: engineRegistry() });
  const common = { store, logger: silentLogger, signal: stop.signal };
  running.push((await startArbiter(common)).done);
  for (const nodeID of names)
    running.push(
      (
        await startAgent({
          ...common,
          host,
          nodeID,
          stateDir: join(dir, nodeID),
          leases: {},
          releaseOnStop: true,
        })
      ).done,
    );
  return { store, dir };
}

test("a pool whose object alone is there is not ready and says why, at first which file no node has; and it can be deleted", async (t) => {
  const { store, dir } = await nodes(t, "a", "b");
  const rbd = { user: "mooring", pool: "images", keyring: join(dir, "keyring") };
  const conf = join(dir, "ceph.conf");
  await store.create(Pools, poolObject({ type: "rbd", mode: "shared", path: conf, rbd }));
  const { status } = await until(store, Pools, POOL, ({ status: s }) => s?.ready === false);
  assert.deepEqual(
    status?.conditions?.map(({ type, status: s, reason }) => [type, s, reason]),
    [["Ready", "False", "NoNode"]],
  );
  assert.match(status?.conditions?.[0]?.message ?? "", new RegExp(`no node has it: none has ${conf}$`));
  for (const name of ["a", "b"]) {
    const { status: agent } = await store.get(NodeAgents, { name });
    assert.equal(
      agent?.conditions?.some(({ type, status: s }) => type === "PoolsRespond" && s === "False"),
      false,
    );
  }
  await writeFile(conf, "[global]\n");
  const said = /on node [ab]: there is no keyring|^there is no keyring/;
  await until(store, Pools, POOL, ({ status: s }) => said.test(s?.conditions?.[0]?.message ?? ""));
  await store.delete(Pools, { name: POOL });
  await eventually(
    "the pool to go",
    async () => (await getIfAny(store, Pools, { name: POOL })) === undefined,
  );
});

test("a shared folder whose object alone is there is not ready, and says so", async (t) => {
  const { store, dir } = await nodes(t, "a");
  await store.create(Pools, poolObject({ type: "xfs", mode: "shared", path: dir }));
  const { status } = await until(store, Pools, POOL, ({ status: s }) => s?.ready === false);
  assert.match(
    status?.conditions?.[0]?.message ?? "",
    /no node has it: an object alone makes none take part/,
  );
});

test(
  "each node that has a cluster's configuration file takes part in a pool that was made as an object alone, also when the file comes later",
  withCluster,
  async (t) => {
    const { conf, spec: rbd } = await (await cluster()).rbdPool();
    const later = `${conf}.later`;
    await rename(conf, later);
    const back = () => rename(later, conf).catch(() => {});
    t.after(back);
    const { store } = await nodes(t, "a", "b");
    await store.create(Pools, poolObject({ type: "rbd", mode: "shared", path: conf, rbd }));
    await until(store, Pools, POOL, ({ status }) => status?.conditions?.[0]?.reason === "NoNode");
    await back();
    const pool = await until(store, Pools, POOL, ({ status }) => status?.nodes?.length === 2);
    assert.equal(pool.status?.ready, true);
    await store.create(Volumes, volumeObject("v-p-1", { volumeMode: "Block", size: 16 * MIB }));
    await until(store, Volumes, "v-p-1", ({ status }) => status?.state === "detached");
    const ticket = { id: "w", type: "csi-attacher", nodeID: "b" } as const;
    await addTicket(store, "v-p-1", ticket, { now: new Date() });
    const { status } = await until(store, Volumes, "v-p-1", (volume) => volume.status?.state === "attached");
    assert.equal(status?.currentNodeID, "b");
    assert.ok((await stat(status?.device ?? "")).isBlockDevice());
  },
);
