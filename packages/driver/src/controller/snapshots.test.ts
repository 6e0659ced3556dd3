import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { PoolType } from "@mooring/engine";
import { covers, everyday, sample, thorough } from "@mooring/store/testing";
import {
  type CapabilityChoice,
  capability,
  codeOf,
  createVolume,
  failureOf,
  MIB,
  stage,
  startWorld,
  type World,
} from "../testing/world.ts";

for (const pool of sample(["xfs", "btrfs"] as PoolType[], { everyday: 1 })) {
  describe(`snapshots and copies in a ${pool} pool`, () => {
    let world: World;
    before(async () => {
      world = await startWorld({ pool });
    });
    after(() => world.end());

    const snapshot = (name: string, sourceVolumeId: string, more: object = {}) =>
      world.client.controller.createSnapshot({ name, sourceVolumeId, ...more });
    const remove = (volumeId: string) => world.client.controller.deleteVolume({ volumeId });
    const removeSnapshot = (snapshotId: string) => world.client.controller.deleteSnapshot({ snapshotId });
    const restore = async (name: string, source: object, size: bigint, choice: CapabilityChoice = {}) => {
      const { volume } = await world.client.controller.createVolume({
        name,
        capacityRange: { requiredBytes: size },
        volumeCapabilities: [capability(choice)],
        volumeContentSource: { type: source as never },
      });
      return volume?.volumeId ?? "";
    };
    const fromSnapshot = (snapshotId: string) => ({ case: "snapshot", value: { snapshotId } });
    const fromVolume = (volumeId: string) => ({ case: "volume", value: { volumeId } });

    test(
      "one name, one snapshot; another source is ALREADY_EXISTS, and what Kubernetes adds about itself changes nothing",
      thorough(),
      async () => {
        covers("CSI-202", "CSI-204", "CSI-222", "CSI-347");
        const [a, b] = [await createVolume(world, "a"), await createVolume(world, "b")];
        const first = (await snapshot("one", a)).snapshot;
        const again = (await snapshot("one", a)).snapshot;
        assert.equal(first?.readyToUse, true);
        assert.equal(first?.sourceVolumeId, a);
        assert.deepEqual(again?.creationTime, first?.creationTime);
        assert.equal(again?.snapshotId, first?.snapshotId);
        assert.equal(await codeOf(snapshot("one", b)), "ALREADY_EXISTS");
        const parameters = { "csi.storage.k8s.io/volumesnapshot/name": "x" };
        const renamed = (await snapshot("one", a, { parameters })).snapshot;
        assert.equal(renamed?.snapshotId, first?.snapshotId);
        assert.equal(await codeOf(snapshot("two", a, { parameters: { colour: "red" } })), "INVALID_ARGUMENT");
        assert.equal(await codeOf(snapshot("three", "v-unknown")), "NOT_FOUND");
        await removeSnapshot(first?.snapshotId ?? "");
        for (const id of [a, b]) await remove(id);
      },
    );

    for (const fsType of sample(["ext4", "xfs", "btrfs"], { everyday: 1 })) {
      test(`${fsType}: a restore beside its source, larger, with what was written before the snapshot`, async () => {
        covers("CSI-199", "CSI-206", "CSI-071");
        const choice = { fsType };
        const id = await createVolume(world, `source ${fsType}`, choice);
        const source = await stage(world, id, choice);
        const content = randomBytes(200_000);
        await writeFile(join(source.path, "before"), content);
        const { snapshot: made } = await snapshot(`snap ${fsType}`, id);
        await writeFile(join(source.path, "after"), "too late");
        const copy = await restore(
          `copy ${fsType}`,
          fromSnapshot(made?.snapshotId ?? ""),
          640n * MIB,
          choice,
        );
        const restored = await stage(world, copy, choice);
        assert.deepEqual(await readFile(join(restored.path, "before")), content);
        await assert.rejects(readFile(join(restored.path, "after")), { code: "ENOENT" });
        const { usage } = await world.client.node.nodeGetVolumeStats({
          volumeId: copy,
          volumePath: restored.path,
        });
        assert.ok((usage[0]?.total ?? 0n) > 500n * MIB, `only ${usage[0]?.total} bytes`);
        await restored.undo();
        await source.undo();
        await removeSnapshot(made?.snapshotId ?? "");
        for (const volumeId of [id, copy]) await remove(volumeId);
      });
    }

    test("a clone stands on its own: its source may change and go", thorough(), async () => {
      const id = await createVolume(world, "clone source");
      const source = await stage(world, id);
      await writeFile(join(source.path, "file"), "original");
      const clone = await restore("clone", fromVolume(id), 320n * MIB);
      await writeFile(join(source.path, "file"), "changed");
      await source.undo();
      await remove(id);
      const copy = await stage(world, clone);
      assert.equal(await readFile(join(copy.path, "file"), "utf8"), "original");
      await copy.undo();
      await remove(clone);
    });

    test(
      "a volume that was asked for smaller than its file system can be is cloned into one that is",
      thorough(),
      async () => {
        const choice = { fsType: "ext4" };
        const { volume } = await world.client.controller.createVolume({
          name: "tiny",
          capacityRange: { requiredBytes: MIB },
          volumeCapabilities: [capability(choice)],
        });
        const id = volume?.volumeId ?? "";
        assert.equal(volume?.capacityBytes, 8n * MIB);
        const source = await stage(world, id, choice);
        await writeFile(join(source.path, "file"), "original");
        await source.undo();
        const clone = await restore("tiny clone", fromVolume(id), MIB, choice);
        const copy = await stage(world, clone, choice);
        assert.equal(await readFile(join(copy.path, "file"), "utf8"), "original");
        await copy.undo();
        for (const volumeId of [id, clone]) await remove(volumeId);
      },
    );

    test("sources that are missing, too large or of another kind", thorough(), async () => {
      covers("CSI-126", "CSI-351");
      const id = await createVolume(world, "small", { fsType: "ext4" });
      const { snapshot: made } = await snapshot("small", id);
      const sourceId = made?.snapshotId ?? "";
      assert.equal(await codeOf(restore("x", fromSnapshot(sourceId), 16n * MIB)), "OUT_OF_RANGE");
      assert.equal(await codeOf(restore("x", fromSnapshot("s-unknown"), 16n * MIB)), "NOT_FOUND");
      assert.equal(await codeOf(restore("x", fromVolume("../../x"), 16n * MIB)), "NOT_FOUND");
      await (await stage(world, id, { fsType: "ext4" })).undo();
      const { snapshot: formatted } = await snapshot("formatted", id);
      const wrong = await failureOf(
        restore("x", fromSnapshot(formatted?.snapshotId ?? ""), 320n * MIB, { fsType: "xfs" }),
      );
      assert.equal(wrong.code, "INVALID_ARGUMENT");
      assert.match(wrong.message, /ext4/);
      for (const snapshotId of [sourceId, formatted?.snapshotId ?? ""]) await removeSnapshot(snapshotId);
      await remove(id);
    });

    test("lists: by source, by id, in pages; deletes are idempotent", everyday(), async () => {
      covers("CSI-227", "CSI-232", "CSI-234", "CSI-238", "CSI-239", "CSI-240");
      const { controller } = world.client;
      const [a, b] = [await createVolume(world, "list a"), await createVolume(world, "list b")];
      const ids: string[] = [];
      for (const [name, source] of [
        ["1", a],
        ["2", b],
        ["3", a],
      ] as const) {
        ids.push((await snapshot(`list ${name}`, source)).snapshot?.snapshotId ?? "");
      }
      const list = async (request: object) =>
        (await controller.listSnapshots(request)).entries.map((entry) => entry.snapshot?.snapshotId);
      assert.deepEqual(await list({}), ids);
      assert.deepEqual(await list({ sourceVolumeId: a }), [ids[0], ids[2]]);
      assert.deepEqual(await list({ snapshotId: ids[1] }), [ids[1]]);
      assert.deepEqual(await list({ snapshotId: ids[1], sourceVolumeId: a }), []);
      assert.deepEqual(await list({ snapshotId: "s-unknown" }), []);
      const { nextToken } = await controller.listSnapshots({ maxEntries: 2 });
      assert.deepEqual(await list({ startingToken: nextToken }), [ids[2]]);
      assert.equal(await codeOf(controller.listSnapshots({ startingToken: "x" })), "ABORTED");
      assert.equal((await controller.getSnapshot({ snapshotId: ids[0] ?? "" })).snapshot?.snapshotId, ids[0]);
      assert.equal(await codeOf(controller.getSnapshot({ snapshotId: "s-unknown" })), "NOT_FOUND");
      // A snapshot outlives its volume.
      await remove(a);
      assert.deepEqual(await list({}), ids);
      for (const id of [...ids, ...ids, "nonsense", "../../etc"]) await removeSnapshot(id);
      await remove(b);
    });
  });
}
