import { join } from "node:path";
import type { Pool } from "../../api/pool.ts";
import { EngineError } from "../../errors.ts";
import type { Extent } from "../../host/filesystem/extents.ts";
import type { Host } from "../../host/host.ts";
import { checkImageId } from "../image-id.ts";
import { rbdLayout } from "../layout.ts";
import { RbdCommands } from "./commands.ts";
import { listOf, objectOf, parse } from "./json.ts";
import { wholeName } from "./names.ts";
import { readInfo } from "./rbd-info.ts";

/** Extents begin and end where blocks of volumes do. */
const BLOCK = 4096;
/** It asks for each object of the image that has data. */
const DIFF_MS = 600_000;

/** The node whose part of a Ceph pool is asked; the pool is open there. */
export interface MapReader {
  host: Pick<Host, "exec" | "clock">;
  stateDir: string;
}

/**
 * Size and extents of an image in a Ceph pool. Where the bytes of an extent are is not known: Ceph compares an image with snapshots
 * of its own only, and copies are images of their own. Throws NOT_FOUND when the image is not there.
 */
export async function rbdMap(
  { metadata: { name }, spec }: Pool,
  id: string,
  { host: { exec, clock }, stateDir }: MapReader,
): Promise<{ size: number; extents: (signal?: AbortSignal) => AsyncIterable<Extent> }> {
  const image = wholeName(checkImageId(id));
  const { folder } = rbdLayout(join(stateDir, "pools", name));
  const { path: conf, rbd } = spec;
  if (rbd === undefined) throw new EngineError("FAILED_PRECONDITION", `pool ${name} has no spec.rbd`);
  const commands = new RbdCommands({ exec, clock, place: { conf, ...rbd }, folder });
  commands.reuse();
  const info = await readInfo(commands, { name: image });
  if (info === undefined) throw new EngineError("NOT_FOUND", `image ${id} is not in pool ${name}`);
  const { size } = info;
  return { size, extents: (signal) => extents(commands, { image, size }, signal) };
}

async function* extents(
  commands: RbdCommands,
  { image, size }: { image: string; size: number },
  signal: AbortSignal | undefined,
): AsyncIterable<Extent> {
  const { stdout } = await commands.rbd(["diff", "--format", "json", image], { signal, limit: DIFF_MS });
  let end = 0;
  for (const entry of listOf(parse(stdout)).map(objectOf)) {
    if (String(entry["exists"]) !== "true") continue;
    const from = Math.max(end, floor(Number(entry["offset"])));
    end = Math.min(size, floor(Number(entry["offset"]) + Number(entry["length"]) + BLOCK - 1));
    if (end > from) yield { offset: from, length: end - from, place: undefined };
  }
}

function floor(bytes: number): number {
  return Math.floor(bytes / BLOCK) * BLOCK;
}
