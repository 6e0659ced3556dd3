import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { after, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { Leases, Nodes, silentLogger } from "@mooring/store";
import { cephOfFile, eventually, withCeph } from "@mooring/store/testing";
import { LEASE_NAMESPACE, LEASE_NODE_LABEL } from "../../api/names.ts";
import { NodeAgents } from "../../api/node-agent.ts";
import { Volumes } from "../../api/volume.ts";
import { startFencing } from "../../cluster/fencing/index.ts";
import { CLIENTS } from "../../leases/clients.ts";
import { leaseName } from "../../leases/lease-watch.ts";
import { until } from "../../testing/agent.ts";
import { MIB } from "../../testing/scratch.ts";
import { BlockWriter, readStints } from "../migration/testing/block-writer.ts";
import { Stage, VOLUME } from "../migration/testing/stage.ts";

const withCluster = await withCeph();
const cluster = cephOfFile(after);
/** So long that no test waits for its end. */
const HOURS = { durationMs: 36_000_000, safetyMs: 4000 };
/** When a silent node counts as lost; longer than an agent that lives is ever silent. */
const GRACE_MS = 25_000;

const SLOT_BYTES = 4096;

/**
 * Writes one slot after the other, each on disk before it counts, as `BlockWriter` does. It goes on when it fails, as a machine does
 * that does not know what has become of it.
 */
class StubbornWriter {
  acknowledged = 0;
  refused = 0;
  /** Writes that were taken after one that was refused. */
  late = 0;
  readonly #node: string;
  readonly #file: FileHandle;
  readonly #running: Promise<void>;
  #stopping = false;

  private constructor(node: string, file: FileHandle) {
    this.#node = node;
    this.#file = file;
    this.#running = this.#run();
  }

  static async start(node: string, device: string): Promise<StubbornWriter> {
    return new StubbornWriter(node, await open(device, "rs+"));
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#running;
    await this.#file.close();
  }

  async #run(): Promise<void> {
    for (let at = 0; !this.#stopping; at++) {
      const slot = Buffer.alloc(SLOT_BYTES);
      slot.write(`${this.#node} ${this.acknowledged + 1}\n`);
      try {
        await this.#file.write(slot, 0, SLOT_BYTES, at * SLOT_BYTES);
        if (this.refused > 0) this.late += 1;
        else this.acknowledged += 1;
      } catch (error) {
        // What the kernel has for a disk without room, once the agent that is back has fenced the device.
        assert.match(String(error), /EIO|ENOSPC/);
        this.refused += 1;
      }
      // The device has room for as long as the test may take.
      await setTimeout(20);
    }
  }
}

async function hashOf(file: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash);
  return hash.digest("hex");
}

test(
  "a lost node is shut out before the next one has its volume, long before its lease would end, and can write nothing any more",
  withCluster,
  async (t) => {
    const ceph = await cluster();
    const rbd = await ceph.rbdPool();
    const stage = await Stage.open(t, {
      rbd,
      leases: HOURS,
      volume: { volumeMode: "Block", size: 64 * MIB },
    });
    const { store, host } = stage;
    const image = async (): Promise<string> => {
      const file = join(stage.dir, "exported");
      const name = `${rbd.spec.pool}/${rbd.spec.namespace}/mooring.${VOLUME}`;
      await ceph.admin("rbd", "export", "--no-progress", name, `${file}.new`);
      await host.exec.run("mv", [`${file}.new`, file]);
      return hashOf(file);
    };
    const stop = new AbortController();
    t.after(() => stop.abort());
    store.registry.register({ resource: Nodes, hasStatus: true });
    const common = { store, clock: host.clock, logger: silentLogger, signal: stop.signal };
    const fencing = await startFencing({ ...common, graceMs: GRACE_MS, leases: HOURS });

    await stage.ask("a");
    const device = await stage.attached("a");
    const writer = await StubbornWriter.start("a", device);
    const more = (count: "acknowledged" | "refused") => {
      const goal = writer[count] + 20;
      return eventually(`20 more writes to be ${count}`, async () => writer[count] >= goal, {
        withinMs: 120_000,
      });
    };
    await more("acknowledged");
    await stage.ask("b");
    // Its agent is gone, and its workload is not.
    await stage.stopNode("a");
    await until(store, NodeAgents, "a", ({ status }) => /Suspect|Fenced/.test(status?.state ?? ""));
    const reportedAt = performance.now();
    const there = await stage.attached("b");
    t.diagnostic(`attached ${Math.round(performance.now() - reportedAt)} ms after the report`);
    const { status } = await store.get(NodeAgents, { name: "a" });
    assert.equal(status?.state, "Fenced");
    await more("refused");
    const second = await BlockWriter.start("b", there, writer.acknowledged);
    await second.progress(20);
    await second.stop();

    const before = await image();
    await more("refused");
    assert.equal(await image(), before);
    assert.deepEqual(await readStints(join(stage.dir, "exported")), [
      ["a", writer.acknowledged],
      ["b", second.acknowledged],
    ]);

    // Its agent is back before its workload has ended: that has the device of before, which nobody else may get.
    await stage.startNode("a");
    await until(store, NodeAgents, "a", ({ status }) => status?.state === "Ready");
    await stage.leave("a");
    await stage.leave("b");
    await stage.detached();
    await stage.ask("a");
    await until(store, Volumes, VOLUME, ({ status }) => /is still in use/.test(status?.error?.message ?? ""));
    await more("refused");
    await writer.stop();
    assert.equal(writer.late, 0);
    // It has a client that nobody has shut out.
    const again = await BlockWriter.start("c", await stage.attached("a"), second.end);
    await again.progress(10);
    await again.stop();
    const lease = await store.get(Leases, { namespace: LEASE_NAMESPACE, name: leaseName(VOLUME) });
    assert.equal(lease.metadata.labels?.[LEASE_NODE_LABEL], "a");
    // Who has it open now, and nobody of before.
    const { [CLIENTS]: clients = "", ...annotations } = lease.metadata.annotations ?? {};
    assert.match(clients, /^\d+\.\d+\.\d+\.\d+:0\/\d+$/);
    assert.deepEqual(annotations, { "storage.mooring.dev/fenced-by": "cluster" });
    await stage.leave("a");
    await stage.detached();
    stop.abort();
    await fencing.done;
  },
);
