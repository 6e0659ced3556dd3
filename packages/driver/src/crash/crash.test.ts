import assert from "node:assert/strict";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createHost } from "@mooring/engine";
import { failpointNames } from "@mooring/store";
import "../index.ts";
import { bundleProgram, covers, killEveryFailpoint, thorough } from "@mooring/store/testing";
import { capability, cleanUp, MIB } from "../testing/world.ts";
import { GROUP_FAILPOINT } from "./group-failpoints.ts";
import { Supervisor } from "./supervisor.ts";

const bundle = await bundleProgram(new URL("child.ts", import.meta.url));
after(bundle.remove);
const host = createHost();
const NODE = "node-1";

/** A volume's whole life with everything that can be done to it; every call is repeated until it returns. */
async function life(supervisor: Supervisor): Promise<void> {
  const paths = Object.fromEntries(["staging", "target", "copy"].map((n) => [n, join(supervisor.folder, n)]));
  const { staging = "", target = "", copy = "" } = paths;
  // The folder for staging is the driver's to make, the copy's is there.
  await mkdir(copy);
  const volumeCapability = capability({ fsType: "xfs" });
  const create = (name: string, more: object = {}) =>
    supervisor.call(async ({ controller }) => {
      const capacityRange = { requiredBytes: 320n * MIB };
      const { volume } = await controller.createVolume({
        name,
        capacityRange,
        volumeCapabilities: [volumeCapability],
        ...more,
      });
      return volume?.volumeId ?? "";
    });
  const attach = async (volumeId: string, stagingTargetPath: string) => {
    await supervisor.call((c) =>
      c.controller.controllerPublishVolume({ volumeId, nodeId: NODE, volumeCapability }),
    );
    await supervisor.call((c) => c.node.nodeStageVolume({ volumeId, stagingTargetPath, volumeCapability }));
  };
  const detach = async (volumeId: string, stagingTargetPath: string) => {
    await supervisor.call((c) => c.node.nodeUnstageVolume({ volumeId, stagingTargetPath }));
    await supervisor.call((c) => c.controller.controllerUnpublishVolume({ volumeId, nodeId: NODE }));
  };

  const volumeId = await create("one");
  assert.equal(await create("one"), volumeId, "a repeat is the same volume");
  await attach(volumeId, staging);
  const publish = { volumeId, stagingTargetPath: staging, targetPath: target, volumeCapability };
  await supervisor.call((c) => c.node.nodePublishVolume(publish));
  await writeFile(join(target, "file"), "kept", { flush: true });
  const mutableParameters = { readAheadKiB: "256" };
  await supervisor.call((c) => c.controller.controllerModifyVolume({ volumeId, mutableParameters }));
  const capacityRange = { requiredBytes: 400n * MIB };
  await supervisor.call((c) => c.controller.controllerExpandVolume({ volumeId, capacityRange }));
  const grown = await supervisor.call((c) => c.node.nodeExpandVolume({ volumeId, volumePath: target }));
  assert.equal(grown.capacityBytes, 400n * MIB);
  const snapshotCall = () =>
    supervisor.call((c) => c.controller.createSnapshot({ name: "snap", sourceVolumeId: volumeId }));
  const { snapshot } = await snapshotCall();
  assert.deepEqual(
    (await snapshotCall()).snapshot?.creationTime,
    snapshot?.creationTime,
    "a repeat is the same snapshot",
  );
  const snapshotId = snapshot?.snapshotId ?? "";
  const type = { case: "snapshot", value: { snapshotId } };
  const restored = await create("two", { capacityRange, volumeContentSource: { type } });
  await attach(restored, copy);
  assert.equal(await readFile(join(copy, "file"), "utf8"), "kept", "the copy has the data");
  assert.equal(await readFile(join(target, "file"), "utf8"), "kept", "the volume has the data");
  await detach(restored, copy);
  const { groupSnapshot: group } = await supervisor.call(({ groupController }) =>
    groupController.createVolumeGroupSnapshot({
      ...{ name: "both", sourceVolumeIds: [volumeId, restored], parameters: { deadlineSeconds: "60" } },
    }),
  );
  const snapshotIds = group?.snapshots.map((member) => member.snapshotId) ?? [];
  assert.equal(snapshotIds.length, 2);
  const groupSnapshotId = group?.groupSnapshotId ?? "";
  await supervisor.call(({ groupController }) =>
    groupController.deleteVolumeGroupSnapshot({ groupSnapshotId, snapshotIds }),
  );
  await supervisor.call((c) => c.node.nodeUnpublishVolume({ volumeId, targetPath: target }));
  await detach(volumeId, staging);
  await supervisor.call((c) => c.controller.deleteSnapshot({ snapshotId }));
  for (const id of [volumeId, restored])
    await supervisor.call((c) => c.controller.deleteVolume({ volumeId: id }));
  await supervisor.call((c) => c.controller.deleteVolume({ volumeId }));
  assert.deepEqual((await supervisor.call((c) => c.controller.listVolumes({}))).entries, []);
  assert.deepEqual((await supervisor.call((c) => c.controller.listSnapshots({}))).entries, []);
}

/** Everything below the folder that should be gone once its last volume is. */
async function remains(folder: string): Promise<string[]> {
  const mounts = (await host.mounts.list()).map((entry) => entry.target);
  const loops = (await host.loops.list()).map((loop) => loop.backingFile);
  const records = await readdir(join(folder, "state", "node-volumes")).catch(() => []);
  const targets = (await readdir(folder)).filter((name) => name === "target" || name === "staging");
  return [
    ...mounts.filter((path) => path.startsWith(folder)),
    ...loops.filter((path) => path.startsWith(folder)),
    ...records,
    ...targets,
  ];
}

/** A copy of a mount in the namespace of some other process keeps a device for a while. */
async function finallyRemains(folder: string): Promise<string[]> {
  const deadline = Date.now() + 60_000;
  let left = await remains(folder);
  while (left.length > 0 && Date.now() < deadline) {
    await sleep(100);
    left = await remains(folder);
  }
  return left;
}

/** Those of volume groups have a life of their own: groups.test.ts. */
const failpoints = failpointNames().filter(
  (name) => /^(driver|engine)\//.test(name) && !GROUP_FAILPOINT.test(name),
);
/** Failpoints that this life does not reach: an operator's tickets, jobs, damage, pools, shared pools, a kernel that refuses to grow ext4. */
const UNREACHED =
  /edit-tickets|device-lost|drop-device|renew-image|lease|guard-device|record-released|volume-released|faulted|recovered|lost$|refresh-device|pool|settled|add-finalizer|orphan|copy\/|leak|services|offline|hide-device|restore|filesystem|volume\/repair|engine\/group-|engine\/migration|engine\/share|engine\/shut-out|freezes/;

test("a life that nobody kills passes every failpoint that it is to reach", {
  ...thorough(),
  timeout: 600_000,
}, async () => {
  const supervisor = await Supervisor.start(bundle.path);
  try {
    await life(supervisor);
    assert.equal(await supervisor.stop(), 0);
    const passed = new Set(await supervisor.passed());
    assert.deepEqual(
      failpoints.filter((name) => !UNREACHED.test(name) && !passed.has(name)),
      [],
    );
  } finally {
    await supervisor.stop();
    await cleanUp(host, supervisor.folder);
  }
});

describe("a driver that is killed between any two steps", { concurrency: 2 }, () => {
  killEveryFailpoint(failpoints, { everyday: 1, full: 36 }, (failpoint) => {
    test(`${failpoint}: started again, it goes on and nothing is left over`, {
      timeout: 600_000,
    }, async () => {
      covers("CSI-069", "CSI-020");
      const supervisor = await Supervisor.start(bundle.path, failpoint);
      try {
        await life(supervisor);
        assert.equal(await supervisor.stop(), 0);
        if (!UNREACHED.test(failpoint)) assert.equal(supervisor.kills, 1, "the failpoint was reached");
        assert.deepEqual(await finallyRemains(supervisor.folder), []);
      } finally {
        await supervisor.stop();
        await cleanUp(host, supervisor.folder);
      }
    });
  });
});
