import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Leases, Nodes, silentLogger } from "@mooring/store";
import { cephOfFile, eventually, withCeph } from "@mooring/store/testing";
import { LEASE_NAMESPACE } from "../../api/names.ts";
import { NodeAgents } from "../../api/node-agent.ts";
import { Volumes } from "../../api/volume.ts";
import { startFencing } from "../../cluster/fencing/index.ts";
import { holderOf, isShutOut } from "../../leases/decide.ts";
import { leaseName } from "../../leases/lease-watch.ts";
import { until, volumeObject } from "../../testing/agent.ts";
import { MIB } from "../../testing/scratch.ts";
import { addTicket, removeTickets } from "../../tickets/tickets.ts";
import { BlockWriter, readStints } from "../migration/testing/block-writer.ts";
import { Stage, VOLUME } from "../migration/testing/stage.ts";

const withCluster = await withCeph();
const cluster = cephOfFile(after);
/** So long that no test waits for its end. */
const HOURS = { durationMs: 36_000_000, safetyMs: 4000 };
/** When a silent node counts as lost; longer than an agent that lives is ever silent. */
const GRACE_MS = 25_000;
const OTHER = "v-p-2";
const BLOCK = { volumeMode: "Block" as const, size: 256 * MIB };

test(
  "a lost node goes on with what nobody else wants: it is shut out of the one image that somebody asks for",
  withCluster,
  async (t) => {
    const ceph = await cluster();
    const stage = await Stage.open(t, { rbd: await ceph.rbdPool(), leases: HOURS, volume: BLOCK });
    const { store, host } = stage;
    const stop = new AbortController();
    t.after(() => stop.abort());
    store.registry.register({ resource: Nodes, hasStatus: true });
    const common = { store, clock: host.clock, logger: silentLogger, signal: stop.signal };
    const fencing = await startFencing({ ...common, graceMs: GRACE_MS, leases: HOURS });
    const silence = async () => {
      // Its agent is gone, and its workloads are not.
      await stage.stopNode("a");
      await until(store, NodeAgents, "a", ({ status }) => status?.state === "Suspect");
    };
    const isBack = async () => {
      await stage.startNode("a");
      await until(store, NodeAgents, "a", ({ status }) => status?.state === "Ready");
    };
    const lease = (image: string) =>
      store.get(Leases, { namespace: LEASE_NAMESPACE, name: leaseName(image) });

    await store.create(Volumes, volumeObject(OTHER, BLOCK));
    await until(store, Volumes, OTHER, ({ status }) => status?.state === "detached");
    const ticket = { id: "w2a", type: "csi-attacher", nodeID: "a" } as const;
    await addTicket(store, OTHER, ticket, { now: new Date() });
    await stage.ask("a");
    const device = await stage.attached("a");
    const other = await until(store, Volumes, OTHER, ({ status }) => status?.state === "attached");
    const asked = await BlockWriter.start("a", device);
    const kept = await BlockWriter.start("k", other.status?.device ?? "");

    await silence();
    const leases = [await lease(VOLUME), await lease(OTHER)];
    await Promise.all([asked.progress(200), kept.progress(200)]);
    const later = [await lease(VOLUME), await lease(OTHER)];
    assert.deepEqual(later, leases, "a lease was written though nobody asked");
    assert.equal((await store.get(NodeAgents, { name: "a" })).status?.state, "Suspect");

    await isBack();
    assert.equal(await stage.attached("a"), device);
    await Promise.all([asked.progress(50), kept.progress(50)]);

    await silence();
    await stage.ask("b");
    const there = await stage.attached("b");
    await asked.ended();
    assert.match(String(asked.failure), /EIO/);
    const second = await BlockWriter.start("b", there, asked.end);
    await Promise.all([second.progress(50), kept.progress(50)]);
    assert.equal(holderOf(await lease(OTHER)), "a");
    assert.equal(isShutOut(await lease(OTHER), "a"), false);
    assert.equal((await store.get(NodeAgents, { name: "a" })).status?.state, "Suspect");
    await second.stop();
    assert.deepEqual(await readStints(there), [
      ["a", asked.acknowledged],
      ["b", second.acknowledged],
    ]);

    await isBack();
    await kept.progress(50);
    await kept.stop();
    const { status } = await store.get(Volumes, { name: OTHER });
    assert.deepEqual([status?.state, status?.device], ["attached", other.status?.device]);
    assert.deepEqual(await readStints(other.status?.device ?? ""), [["k", kept.acknowledged]]);
    await asked.stop().catch(() => {});
    await stage.leave("a");
    await stage.leave("b");
    await removeTickets(store, OTHER, () => true);
    await stage.detached();
    await until(store, Volumes, OTHER, ({ status: s }) => s?.state === "detached");
    await eventually("nothing to be left on a", async () => (await stage.devices("a")).length === 0, {
      lastSeen: () => stage.devices("a"),
    });
    stop.abort();
    await fencing.done;
  },
);
