import { execFile } from "node:child_process";
import { mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Driver, NODE } from "../../csi/support/driver.ts";
import { capability, MIB, remove, volumeId } from "../../csi/support/volumes.ts";
import type { Measurement } from "../measure.ts";

const command = promisify(execFile);
const SIZE = 1024n * MIB;
const SECONDS = 5;

interface Job {
  name: string;
  unit: string;
  arguments: readonly string[];
  /** From what fio says of the writes. */
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
    ...["--name=bench", `--filename=${filename}`, "--size=900M", "--output-format=json"],
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
  for (let written = 0; written < 900; written += 1) await file.write(megabyte);
  await file.sync();
  await file.close();
  return path;
}

/** The same writes to a file in the pool, to a block volume's device, and to a file in a mounted volume. */
export async function dataPath(driver: Driver, folder: string): Promise<Measurement[]> {
  const { controller, node } = driver;
  const attach = async (name: string, choice: Parameters<typeof capability>[0]) => {
    const volumeCapability = capability(choice);
    const id = await volumeId(driver, name, { size: SIZE, choice: choice ?? {} });
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
  const { stdout } = await command("losetup", ["--list", "--noheadings", "--output", "NAME,BACK-FILE"]);
  const device =
    stdout
      .split("\n")
      .find((line) => line.includes(block.id))
      ?.trim()
      .split(/\s+/)[0] ?? "";
  await filled(device).catch(() => {});
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
