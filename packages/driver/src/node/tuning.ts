import { writeFile } from "node:fs/promises";
import { basename } from "node:path";
import type { Volume } from "@mooring/engine";
import { failpoint } from "@mooring/store";
import type { DriverContext } from "../context.ts";
import type { AttachedVolume } from "./context.ts";

const readAheadSet = failpoint("driver/tuning/read-ahead-set");

/** Puts the volume's mutable parameters into effect: on its device, and on its file system if that is mounted. */
export async function applyTuning(
  { host }: DriverContext,
  volume: Volume,
  attached: AttachedVolume,
): Promise<void> {
  if (attached.kind !== "device") return;
  const { readAheadKiB } = volume.spec.mutableParameters ?? {};
  if (readAheadKiB !== undefined) {
    await writeFile(`/sys/block/${basename(attached.path)}/queue/read_ahead_kb`, readAheadKiB);
    readAheadSet();
  }
  const [mount] = (await host.mounts.list()).filter(({ source }) => source === attached.path);
  const option = discardOption(volume);
  if (mount === undefined || option === undefined || !REMOUNTED.has(mount.fsType)) return;
  await host.exec.run("mount", ["-o", `remount,${option}`, mount.target]);
}

/** XFS reports success and stays as it is: there the next mount brings it. */
const REMOUNTED: ReadonlySet<string> = new Set(["ext4", "btrfs"]);

/** How a file system is mounted that gives its free blocks back at once; undefined: as it likes. */
export function discardOption({ spec }: Volume): "discard" | "nodiscard" | undefined {
  const wanted = spec.mutableParameters?.discard;
  if (wanted === undefined) return undefined;
  return wanted === "true" ? "discard" : "nodiscard";
}
