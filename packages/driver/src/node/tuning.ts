import { writeFile } from "node:fs/promises";
import { basename } from "node:path";
import type { Volume } from "@mooring/engine";
import type { AttachedVolume } from "./context.ts";

/** Puts the volume's mutable parameters into effect on its device. */
export async function applyTuning(volume: Volume, attached: AttachedVolume): Promise<void> {
  const readAhead = volume.spec.mutableParameters?.readAheadKiB;
  if (readAhead === undefined || attached.kind !== "device") return;
  await writeFile(`/sys/block/${basename(attached.path)}/queue/read_ahead_kb`, readAhead);
}
