import assert from "node:assert/strict";
import { open } from "node:fs/promises";
import { after, test } from "node:test";
import { Nodes, silentLogger } from "@mooring/store";
import { cephOfFile, eventually, withCeph } from "@mooring/store/testing";
import { startFencing } from "../../cluster/fencing/index.ts";
import { serversAt } from "../../pools/rbd/export-servers.ts";
import { attachmentAt } from "../../testing/attachment-at.ts";
import { MIB } from "../../testing/scratch.ts";
import { BlockWriter, readStints } from "../migration/testing/block-writer.ts";
import { Stage, VOLUME } from "../migration/testing/stage.ts";

const withCluster = await withCeph();
const cluster = cephOfFile(after);
/** So long that no test waits for its end. */
const HOURS = { durationMs: 36_000_000, safetyMs: 4000 };
const GRACE_MS = 25_000;
/** A cluster forgets a client that stands still after half a minute. */
const FORGOTTEN_MS = 180_000;
const BLOCK = 4096;

test(
  "a lost node that has written nothing since it opened an image, and was forgotten by the cluster, can write nothing when it goes on",
  withCluster,
  async (t) => {
    const ceph = await cluster();
    const rbd = await ceph.rbdPool();
    const volume = { volumeMode: "Block" as const, size: 64 * MIB };
    const stage = await Stage.open(t, { rbd, leases: HOURS, volume });
    const { store, host } = stage;
    const ofImage = async (...command: string[]) => {
      const where = ["--pool", rbd.spec.pool, "--namespace", rbd.spec.namespace, "--format", "json"];
      return JSON.parse(await ceph.admin("rbd", ...command, ...where, `mooring.${VOLUME}`));
    };
    const stop = new AbortController();
    t.after(() => stop.abort());
    store.registry.register({ resource: Nodes, hasStatus: true });
    const common = { store, clock: host.clock, logger: silentLogger, signal: stop.signal };
    const fencing = await startFencing({ ...common, graceMs: GRACE_MS, leases: HOURS });

    await stage.ask("a");
    const device = await stage.attached("a");
    const user = await open(device, "rs+");
    t.after(() => user.close().catch(() => {}));
    const { backingFile } = await attachmentAt(host, device);
    const [server = 0] = await serversAt(backingFile);
    assert.notEqual(server, 0);
    await stage.stopNode("a");
    // The machine stands still, and nothing of it waits for anything meanwhile.
    process.kill(server, "SIGSTOP");
    const goOn = () => {
      try {
        process.kill(server, "SIGCONT");
      } catch {
        // It has ended.
      }
    };
    t.after(goOn);
    await eventually(
      "the cluster to forget it",
      async () => (await ofImage("status")).watchers.length === 0,
      { withinMs: FORGOTTEN_MS, everyMs: 1000 },
    );
    assert.deepEqual(await ofImage("lock", "ls"), []);

    await stage.ask("b");
    const there = await stage.attached("b");
    const second = await BlockWriter.start("b", there);
    await second.progress(20);
    goOn();
    const taken = await user.write(Buffer.alloc(BLOCK, "a"), 0, BLOCK, 0).then(
      () => "taken",
      (error: unknown) => String(error),
    );
    assert.match(taken, /EIO/);
    await second.progress(20);
    await second.stop();
    assert.deepEqual(await readStints(there), [["b", second.acknowledged]]);

    await user.close();
    await stage.startNode("a");
    await stage.leave("a");
    await stage.leave("b");
    await stage.detached();
    await eventually("nothing to be left on a", async () => (await stage.devices("a")).length === 0);
    stop.abort();
    await fencing.done;
  },
);
