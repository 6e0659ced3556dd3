import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ENGINE_KINDS, startArbiter, type Volume, Volumes } from "@mooring/engine";
import { Events, LocalStore, mutate, ResourceRegistry, silentLogger } from "@mooring/store";
import { endAtRest, thorough } from "@mooring/store/testing";
import { nodeCalls } from "../testing/node-calls.ts";
import { capability, createVolume, stage, startWorld } from "../testing/world.ts";

test(
  "a file system that is mounted, and after a kill not recorded, is recorded before it is used",
  thorough(),
  async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "mooring-mounted-"));
    const kinds = [...ENGINE_KINDS.map((resource) => ({ resource, hasStatus: true }))];
    const registry = new ResourceRegistry([...kinds, { resource: Events, hasStatus: false }]);
    const store = await LocalStore.open({ path: join(folder, "store"), registry });
    const world = await startWorld({ store });
    const stop = new AbortController();
    const arbiter = await startArbiter({ store, logger: silentLogger, signal: stop.signal });
    const end = async () => {
      stop.abort();
      await arbiter.done;
      await world.end();
      await store.close();
      await rm(folder, { recursive: true });
    };
    t.after(() => endAtRest(end));
    const { publish, unpublish, remove } = nodeCalls(() => world);
    const choice = { fsType: "ext4" };
    const id = await createVolume(world, "mounted first", choice);
    const staged = await stage(world, id, choice);
    const formatted = async () => (await store.get(Volumes, { name: id })).status?.formatted;
    const forget = async () => {
      const change = ({ status }: Volume) => {
        delete status?.formatted;
      };
      await mutate(store, Volumes, { name: id }, { change, subresource: "status" });
      assert.equal(await formatted(), undefined);
    };
    assert.equal(await formatted(), "ext4");
    await forget();
    const volumeCapability = capability(choice);
    await world.client.node.nodeStageVolume({
      volumeId: id,
      stagingTargetPath: staged.path,
      volumeCapability,
    });
    assert.equal(await formatted(), "ext4");
    assert.equal((await world.host.mounts.at(staged.path)).length, 1);
    // By a caller that does not repeat its staging.
    await forget();
    const target = world.path("mounted-first");
    await publish(id, staged.path, target, { more: {}, choice });
    assert.equal(await formatted(), "ext4");
    await unpublish(id, target);
    await staged.undo();
    await remove(id);
  },
);
