import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { startDriver } from "./support/driver.ts";
import { ELSEWHERE, ROWS, type Scene } from "./support/v1-errors.ts";
import { createSnapshot, fails, staged, volumeId } from "./support/volumes.ts";

const driver = await startDriver({ pool: "xfs", poolSize: "2Gi" });

/** Does `work` while the pool has less left than it keeps in reserve. */
async function whenFull<T>(work: () => Promise<T>): Promise<T> {
  const mount = join(driver.stateDir, "pools", "default", "mnt");
  const filler = join(mount, "filler");
  const { bavail, bsize } = await statfs(mount);
  await promisify(execFile)("fallocate", ["-l", String(bavail * bsize - 32 * 1024 ** 2), filler]);
  try {
    return await work();
  } finally {
    await rm(filler);
  }
}

async function setScene(): Promise<Scene & { undo(): Promise<void> }> {
  const used = await staged(driver, "used", { choice: { fsType: "ext4" } });
  const target = driver.path("target");
  await used.publish(target);
  const earlier = (await createSnapshot(driver, "earlier", used.id)).snapshotId;
  const later = (await createSnapshot(driver, "later", used.id)).snapshotId;
  const groupVolumes = [await volumeId(driver, "one"), await volumeId(driver, "two")] as const;
  const foreign = (await createSnapshot(driver, "foreign", groupVolumes[0])).snapshotId;
  const { groupSnapshot } = await driver.client.groupController.createVolumeGroupSnapshot({
    ...{ name: "group", sourceVolumeIds: [...groupVolumes], parameters: { deadlineSeconds: "60" } },
  });
  const [first = "", second = ""] = groupSnapshot?.snapshots.map(({ snapshotId }) => snapshotId) ?? [];
  const undo = async () => {
    await used.unpublish(target);
    await used.undo();
  };
  return {
    undo,
    ...{ client: driver.client, target, staging: used.staging, volume: used.id },
    ...{ earlier, later, foreign, groupVolumes },
    ...{ group: groupSnapshot?.groupSnapshotId ?? "", members: [first, second] as const },
    whenFull,
  };
}

describe("rows of the error tables that only csi.v1 has", () => {
  let scene: Awaited<ReturnType<typeof setScene>>;
  before(async () => {
    scene = await setScene();
  });
  after(() => scene.undo());
  for (const { rpc, condition, code, call, names, next } of ROWS) {
    test(`${rpc}: ${condition} is ${code}, names the object and what to do`, async () => {
      const message = await fails(code, call(scene), next);
      assert.ok(message.includes(names(scene)), `${message} names ${names(scene)}`);
    });
  }
});

test("what no call here leads to has a reason, and is no row that one leads to", () => {
  const keys = ROWS.map(({ rpc, condition }) => `${rpc} ${condition}`);
  for (const { rpc, condition, why } of ELSEWHERE) {
    assert.ok(why.length > 20, condition);
    assert.ok(!keys.includes(`${rpc} ${condition}`), condition);
  }
});
