import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Driver, host, NODE } from "../../csi/support/driver.ts";
import { capability, MIB, remove, volumeId } from "../../csi/support/volumes.ts";
import { type Measurement, sized } from "../measure.ts";
import { FIO_JOBS, filled, fio } from "../support/fio.ts";

const SIZE = sized(1024, 96);

/** The loop device of a volume that is attached. */
export async function deviceOf(id: string): Promise<string> {
  const loop = (await host.loops.list()).find(({ backingFile }) => backingFile.endsWith(`/${id}.img`));
  if (loop === undefined) throw new Error(`volume ${id} is attached, but no loop device has its image`);
  return loop.path;
}

/** The same writes to a file in the pool, to a block volume's device, and to a file in a mounted volume. */
export async function dataPath(driver: Driver, folder: string): Promise<Measurement[]> {
  const { controller, node } = driver;
  const attach = async (name: string, choice: Parameters<typeof capability>[0]) => {
    const volumeCapability = capability(choice);
    const id = await volumeId(driver, name, { size: BigInt(SIZE) * MIB, choice: choice ?? {} });
    const stagingTargetPath = driver.path(`data-${name}`);
    await mkdir(stagingTargetPath);
    await controller.controllerPublishVolume({ volumeId: id, nodeId: NODE, volumeCapability });
    await node.nodeStageVolume({ volumeId: id, stagingTargetPath, volumeCapability });
    const undo = async () => {
      await node.nodeUnstageVolume({ volumeId: id, stagingTargetPath });
      await controller.controllerUnpublishVolume({ volumeId: id, nodeId: NODE });
      await remove(driver, id);
    };
    return { id, stagingTargetPath, undo };
  };
  const raw = join(folder, "data");
  await filled(raw);
  const block = await attach("block", { access: "block" });
  const device = await filled(await deviceOf(block.id));
  const mounted = await attach("mounted", { fsType: "ext4" });
  const file = await filled(join(mounted.stagingTargetPath, "data"));
  const results: Measurement[] = [];
  for (const job of FIO_JOBS) {
    const baseline = await fio(job, raw);
    const against = { unit: job.unit, baseline, baselineName: "file in the pool" };
    results.push({ name: `${job.name}, loop device`, value: await fio(job, device), ...against });
    results.push({ name: `${job.name}, mounted ext4`, value: await fio(job, file), ...against });
  }
  await block.undo();
  await mounted.undo();
  await rm(raw);
  return results;
}
