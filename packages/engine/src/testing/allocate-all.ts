import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Host } from "../host/host.ts";
import { MIB } from "./scratch.ts";

/** Leaves no part of a btrfs without a block group: a quarter of the data is free, everywhere a bit, and metadata cannot grow. */
export async function allocateAll(host: Host, folder: string): Promise<void> {
  for (let index = 0; ; index++) {
    const path = join(folder, `filler-${index}`);
    await writeFile(path, "");
    const { exitCode } = await host.exec.try("fallocate", ["--length", String(4 * MIB), path]);
    if (exitCode === 0) continue;
    await rm(path);
    break;
  }
  const fillers = (await readdir(folder)).filter((name) => name.startsWith("filler-"));
  for (const [index, name] of fillers.entries()) if (index % 4 === 0) await rm(join(folder, name));
  await host.exec.run("sync", ["--file-system", folder]);
}
