import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Disk } from "./disk.ts";
import type { Kernels } from "./kernels.ts";
import type { RecordWriter, Stint } from "./records.ts";

/** Bytes. */
export const MIB = 1n << 20n;
/** Records that a writer is to have before anything happens to it. */
export const RECORDS = 50;
/** The nodes that the checks need. */
export const NODES: readonly [string, string] = ["one", "two"];

/** Resolves with what it has seen, as a text; `report`: what is seen on the way. */
export type Check = (kernels: Kernels, report: (line: string) => void) => Promise<string>;

/** How long something took, to be read. */
export function seconds(from: number): string {
  return `${((performance.now() - from) / 1000).toFixed(1)} s`;
}

/** Of all that is in the image, by the cluster. */
export async function imageHash(kernels: Kernels, disk: Disk): Promise<string> {
  const file = join(kernels.folder, "image");
  await rm(file, { force: true });
  await kernels.rbd("export", "--no-progress", `mooring.${disk.id}`, file);
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash);
  return hash.digest("hex");
}

/** The last writer's acknowledged records are all there, behind those of the others before it. */
export function isComplete(stints: readonly Stint[], before: readonly Stint[], writer: RecordWriter): void {
  const last = stints.at(-1);
  assert.deepEqual(stints.slice(0, -1), before);
  assert.equal(last?.[0], writer.name);
  assert.ok(
    (last?.[1] ?? 0) >= writer.acknowledged,
    `${writer.acknowledged} acknowledged, ${last?.[1]} there`,
  );
}

/** Hands the disk from a node that was lost to the other. Resolves with its device there, and how long that took. */
export async function takeOver(kernels: Kernels, disk: Disk, { from, to }: { from: string; to: string }) {
  const lost = performance.now();
  const asked = Promise.all([disk.leave(from), disk.attach(to)]);
  // What fails is thrown below.
  asked.catch(() => {});
  await kernels.agentIs(from, "Suspect|Fenced");
  const found = performance.now();
  const [, device] = await asked;
  return { device, took: `${seconds(lost)} after the loss, ${seconds(found)} after it was found lost` };
}
