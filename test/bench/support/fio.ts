import { execFile } from "node:child_process";
import { open } from "node:fs/promises";
import { promisify } from "node:util";
import { sized } from "../measure.ts";

const command = promisify(execFile);
/** MiB that are written over and over. */
const FILLED = sized(900, 48);
const SECONDS = sized(5, 1);

interface FioJob {
  name: string;
  unit: string;
  arguments: readonly string[];
  /** From what fio reports of the writes. */
  value(write: { iops: number; bw_bytes: number }): number;
}

/** What is written, and by what it is evaluated. */
export const FIO_JOBS: readonly FioJob[] = [
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

/** The figure of one job on a file or a device that is {@link filled}. */
export async function fio(job: FioJob, filename: string): Promise<number> {
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
export async function filled(path: string): Promise<string> {
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
