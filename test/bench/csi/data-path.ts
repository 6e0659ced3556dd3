import { execFile } from "node:child_process";
import { mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Driver, host, NODE } from "../../csi/support/driver.ts";
import { capability, MIB, remove, volumeId } from "../../csi/support/volumes.ts";
import { type Measurement, sized } from "../measure.ts";

const command = promisify(execFile);
/** MiB that are written over and over. */
const FILLED = sized(900, 48);
const SIZE = sized(1024, 96);
const SECONDS = sized(5, 1);

interface Job {
  name: string;
  unit: string;
  arguments: readonly string[];
  /** From what fio reports of the writes. */
  value(write: { iops: number; bw_bytes: number }): number;
}

const JOBS: readonly Job[] = [
  {
    ...{ name: "4k random write with fsync", unit: "ms" },
    arguments: ["--rw=randwrite", "--bs=4k", "--fsync=1"],
    value: ({ iops }) => 1000 / iops,
  },
  {
    ...{ name: "1M sequential write", unit: "ms per MiB" },
    arguments: ["--rw=write", "--bs=1M", "--direct=1", "--ioengine=libaio", "--iodepth=4"],
    value: ({ bw_bytes }) => (1000 * 1024 ** 2) / bw_bytes,
  },
];

async function fio(job: Job, filename: string): Promise<number> {
  const { stdout } = await command("fio", [
    ...["--name=bench", `--filename=${filename}`, `--size=${FILLED}M`, "--output-format=json"],
    ...["--time_based", `--runtime=${SECONDS}`, "--randrepeat=1", ...job.arguments],
  ]);
  const report = JSON.parse(stdout) as { jobs: { write: { iops: number; bw_bytes: number } }[] };
  const [done] = report.jobs;
  if (done === undefined) throw new Error(`fio reported nothing for ${filename}`);
  return job.value(done.write);
}

/** Written over once, so that no job pays for the first allocation of blocks. */
async function filled(path: string): Promise<string> {
  const file = await open(path, "w");
  const megabyte = Buffer.alloc(1024 ** 2, 1);
  try {
    for (let written = 0; written < FILLED; written += 1) {
      const { bytesWritten } = await file.write(megabyte);
      if (bytesWritten < megabyte.length) throw new Error(`${path} has no ${FILLED} MiB`);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return path;
}

async function deviceOf(id: string): Promise<string> {
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
  for (const job of JOBS) {
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
