import assert from "node:assert/strict";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { Code, CsiError } from "@mooring/csi";
import { type FuzzReport, fuzz } from "@mooring/csi/fuzz";
import { eventually } from "@mooring/store/testing";
import { type Driver, host, NODE } from "../../csi/support/driver.ts";
import { filesBelow } from "../../support/remains.ts";

/** `MOORING_SEED` repeats a run. */
export const SEED = Number(process.env.MOORING_SEED ?? Math.floor(Date.now() / 86_400_000));

/** Of so many requests some succeed of every kind. */
const MANY = 1_000;

/** What requests for paths ask for, below the folder of the run. */
const PATHS = ["a", "b", "a/b", "é"];

/** Random and mutated requests find no crash, no hang and no leak; then all of it is taken back. */
export async function fuzzDriver(driver: Driver, requests: number): Promise<void> {
  const folder = driver.path("fuzz");
  await mkdir(join(folder, "a"), { recursive: true });
  const descriptors = async (): Promise<number> => (await readdir(`/proc/${driver.process.pid}/fd`)).length;
  const before = { fds: await descriptors(), ...(await devices(driver)) };
  const report = await fuzz(driver.endpoint, { folder, requests, seed: SEED, timeoutMs: 120_000 });
  const { codes, reached, slowest, brokenConnections } = report;
  process.stdout.write(`# ${JSON.stringify({ codes, reached, slowest, brokenConnections })}\n`);
  assert.equal(report.findings.length, 0, describe(report));
  // Which requests are made the seed decides; how far they get depends on what others have made by then, and only many get far.
  const reports = requests < MANY ? slowest : reached;
  const groupCalls = Object.keys(reports).filter((name) => name.startsWith("volumegroup."));
  assert.ok(groupCalls.length >= 2, `of volume groups it got no further than ${groupCalls.join()}`);
  await driver.client.identity.probe({});
  await undo(driver, folder);
  const fds = await eventually("descriptors to be closed", async () => {
    const now = await descriptors();
    return now < before.fds + 20 && now;
  });
  assert.deepEqual({ fds, ...(await devices(driver)) }, { ...before, fds });
  const images = (await filesBelow(join(driver.stateDir, "pools"))).filter((file) => file.endsWith(".img"));
  assert.deepEqual(
    images.filter((file) => !file.endsWith("/pool.img")),
    [],
  );
  await eventually("the node to forget every volume", async () => {
    const records = await readdir(join(driver.stateDir, "node-volumes")).catch(() => []);
    return records.length === 0;
  });
}

function describe({ findings }: FuzzReport): string {
  const some = findings.slice(0, 20).map((entry) => ({ ...entry, request: entry.request.toString("hex") }));
  return `${findings.length} findings, the first: ${JSON.stringify(some, null, 1)}`;
}

/** Loop devices and mounts that belong to the driver. */
async function devices({ folder }: Driver) {
  const loops = (await host.loops.list()).filter(({ backingFile }) => backingFile.startsWith(folder));
  const mounts = (await host.mounts.list()).filter(({ target }) => target.startsWith(folder));
  return { loops: loops.map(({ backingFile }) => backingFile), mounts: mounts.map(({ target }) => target) };
}

/** Takes everything back by the calls that are there for it: each of them has to work after such a run. */
async function undo(driver: Driver, folder: string): Promise<void> {
  const { controller } = driver;
  const { groupController } = driver.client;
  await dissolve(driver);
  const { entries } = await controller.listVolumes({});
  const ids = entries.map(({ volume }) => volume?.volumeId ?? "");
  // Volumes may be mounted inside of each other: some go only when others are gone.
  for (let round = 0; round < PATHS.length; round += 1) {
    for (const id of ids) await release(driver, id, folder).catch(() => {});
  }
  for (const volumeId of ids) {
    await release(driver, volumeId, folder);
    await deleteWhenFree(driver, volumeId);
  }
  const groups = new Map<string, string[]>();
  for (const { snapshot } of (await controller.listSnapshots({})).entries) {
    const { snapshotId = "", groupSnapshotId = "" } = snapshot ?? {};
    groups.set(groupSnapshotId, [...(groups.get(groupSnapshotId) ?? []), snapshotId]);
  }
  for (const [groupSnapshotId, snapshotIds] of groups) {
    if (groupSnapshotId !== "")
      await groupController.deleteVolumeGroupSnapshot({ groupSnapshotId, snapshotIds });
    else for (const snapshotId of snapshotIds) await controller.deleteSnapshot({ snapshotId });
  }
}

/** A copy goes on when the one who asked for it has gone. */
async function deleteWhenFree({ controller }: Driver, volumeId: string): Promise<void> {
  let refusal = "";
  const isDeleted = () =>
    controller.deleteVolume({ volumeId }).then(
      () => true,
      (error: unknown) => {
        if (!(error instanceof CsiError) || error.code !== Code.FAILED_PRECONDITION) throw error;
        refusal = error.message;
        return false;
      },
    );
  await eventually(`volume ${volumeId} to be deleted`, isDeleted, { lastSeen: () => refusal });
}

/** Empties and deletes every volume group. However they came about, no volume is in two. */
async function dissolve({ client: { volumeGroup: groups } }: Driver): Promise<void> {
  const { entries } = await groups.listVolumeGroups({});
  const members: string[] = [];
  for (const { volumeGroup } of entries) {
    const volumeGroupId = volumeGroup?.volumeGroupId ?? "";
    const got = await groups.controllerGetVolumeGroup({ volumeGroupId });
    assert.deepEqual(got.volumeGroup, volumeGroup, "Get and List say the same");
    members.push(...(volumeGroup?.volumes.map(({ volumeId }) => volumeId) ?? []));
    await groups.modifyVolumeGroupMembership({ volumeGroupId });
    await groups.deleteVolumeGroup({ volumeGroupId });
  }
  assert.equal(new Set(members).size, members.length, "a volume is in two groups");
  assert.deepEqual((await groups.listVolumeGroups({})).entries, []);
}

async function release({ controller, node }: Driver, volumeId: string, folder: string): Promise<void> {
  for (const path of PATHS) await node.nodeUnpublishVolume({ volumeId, targetPath: join(folder, path) });
  for (const path of PATHS) await node.nodeUnstageVolume({ volumeId, stagingTargetPath: join(folder, path) });
  await controller.controllerUnpublishVolume({ volumeId, nodeId: NODE });
}
