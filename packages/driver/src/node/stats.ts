import { stat } from "node:fs/promises";
import { isAbsolute } from "node:path";
import { type CallContext, Code, CsiError, v1 } from "@mooring/csi";
import {
  deviceSize,
  filesystemUsage,
  isReadOnly,
  isServed,
  type MountEntry,
  type Volume,
} from "@mooring/engine";
import { codeOf } from "../errors.ts";
import { conditionResponse } from "../health/condition.ts";
import { USED_PATH } from "../hints.ts";
import { findPool, getVolume } from "../objects/find.ts";
import { type NodeContext, withAttached } from "./context.ts";
import type { NodeRecord } from "./records.ts";

const { VolumeUsage_Unit: Unit } = v1;

/** NodeGetVolumeStats. Takes no lock and waits for none: it reports what is, also while something else is going on. */
export async function volumeStats(
  node: NodeContext,
  request: v1.NodeGetVolumeStatsRequest,
  { signal }: CallContext,
) {
  if (request.volumePath === "") throw CsiError.invalidArgument("volume_path is required");
  // Only ever compared with the paths of our own records, so it may be anything.
  const path = request.volumePath;
  const volume = await getVolume(node.store, request.volumeId, signal);
  const record = await node.records.findOf(volume);
  const use = useAt(record, path) ?? (await deviceAt(node, volume, record, path));
  const top = use === undefined ? undefined : (await node.host.mounts.at(path)).at(-1);
  if (use === undefined || (top === undefined && use.mounted)) {
    throw notAt(volume, path);
  }
  const asked = use.access === "block" ? deviceUsage(node, volume) : mountUsage(node, volume, path);
  const usage = await asked.catch(async (error: unknown) => {
    const gone = isGone(error) || (use.mounted && (await node.host.mounts.at(path)).length === 0);
    throw gone ? notAt(volume, path) : error;
  });
  const pool = await findPool(node.store, volume.spec.pool, signal);
  return { usage, volumeCondition: readOnlyCondition(top, use) ?? conditionResponse(volume, pool) };
}

function notAt(volume: Volume, path: string): CsiError {
  return CsiError.notFound(`volume "${volume.metadata.name}" is not at ${path}`, { hint: USED_PATH });
}

/** Detached, or unmounted while we were reading. */
function isGone(error: unknown): boolean {
  return codeOf(error) === "ENOENT" || (error instanceof CsiError && error.code === Code.FAILED_PRECONDITION);
}

interface Use {
  access: "block" | "mount";
  readOnly: boolean;
  /** False for the staging path of a block volume, where nothing is ever mounted. */
  mounted: boolean;
}

function useAt(record: NodeRecord | undefined, path: string): Use | undefined {
  const published = record?.published[path];
  if (published !== undefined) return { ...published, mounted: true };
  const staged = record?.staged;
  return staged?.path === path ? { ...staged, mounted: staged.access === "mount" } : undefined;
}

/**
 * A kubelet requests the statistics of a raw volume where it has mounted the device itself (its global map path, with the pod's UID):
 * any path counts that is the device of a volume which is published here raw.
 */
async function deviceAt(
  node: NodeContext,
  volume: Volume,
  record: NodeRecord | undefined,
  path: string,
): Promise<Use | undefined> {
  const published = Object.values(record?.published ?? {}).find(({ access }) => access === "block");
  if (published === undefined || !isAbsolute(path)) return undefined;
  const there = await stat(path).catch(() => undefined);
  if (there?.isBlockDevice() !== true) return undefined;
  const device = await withAttached(node, volume, ({ path: own }) => stat(own)).catch(() => undefined);
  return device?.rdev === there.rdev ? { ...published, mounted: false } : undefined;
}

async function deviceUsage(node: NodeContext, volume: Volume) {
  const total = BigInt(await withAttached(node, volume, ({ path }) => deviceSize(path)));
  return [{ unit: Unit.BYTES, total, used: 0n, available: 0n }];
}

async function mountUsage(node: NodeContext, volume: Volume, path: string) {
  const usage = await (isServed(volume) ? node.servedUsage.of(path) : filesystemUsage(path));
  const bytes = {
    unit: Unit.BYTES,
    total: usage.totalBytes,
    used: usage.usedBytes,
    available: usage.availableBytes,
  };
  // btrfs has no fixed number of inodes and reports 0.
  const inodes = {
    unit: Unit.INODES,
    total: usage.totalInodes,
    used: usage.usedInodes,
    available: usage.availableInodes,
  };
  return [bytes, inodes];
}

/** A file system that was mounted writable and is not any more met an error that the kernel could not get over. */
function readOnlyCondition(top: MountEntry | undefined, { readOnly }: Use) {
  if (top === undefined || readOnly || !isReadOnly(top)) return undefined;
  return { abnormal: true, message: "the file system went read-only after an error; see the kernel log" };
}
