import { type CallContext, CsiError, v1 } from "@mooring/csi";
import { deviceSize, filesystemUsage, isReadOnly, type MountEntry, type Volume } from "@mooring/engine";
import { conditionAnswer } from "../controller/answers.ts";
import { getVolume } from "../controller/objects.ts";
import type { NodeContext } from "./context.ts";
import type { NodeRecord } from "./records.ts";

const { VolumeUsage_Unit: Unit } = v1;

/** NodeGetVolumeStats. Holds no lock and waits for none: it tells what is, also while something else is going on. */
export async function volumeStats(
  node: NodeContext,
  request: v1.NodeGetVolumeStatsRequest,
  { signal }: CallContext,
) {
  if (request.volumePath === "") throw CsiError.invalidArgument("volume_path is required");
  // Only ever compared with the paths of our own records, so it may be anything.
  const path = request.volumePath;
  const volume = await getVolume(node.store, request.volumeId, signal);
  const record = await node.records.find(volume.metadata.name);
  const use = useAt(record, path);
  const top = use === undefined ? undefined : (await node.host.mounts.at(path)).at(-1);
  if (use === undefined || (top === undefined && use.mounted)) {
    throw CsiError.notFound(`volume "${request.volumeId}" is not at ${path}`);
  }
  const usage = use.access === "block" ? await deviceUsage(volume) : await mountUsage(path);
  return { usage, volumeCondition: conditionOf(volume, top, use.readOnly) };
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

async function deviceUsage(volume: Volume) {
  const total = BigInt(await deviceSize(volume.status?.device ?? ""));
  return [{ unit: Unit.BYTES, total, used: 0n, available: 0n }];
}

async function mountUsage(path: string) {
  const usage = await filesystemUsage(path);
  const bytes = {
    unit: Unit.BYTES,
    total: usage.totalBytes,
    used: usage.usedBytes,
    available: usage.availableBytes,
  };
  // btrfs has no fixed number of inodes and says 0.
  const inodes = {
    unit: Unit.INODES,
    total: usage.totalInodes,
    used: usage.usedInodes,
    available: usage.availableInodes,
  };
  return [bytes, inodes];
}

/** A file system that was mounted writable and is not any more met an error that the kernel could not get over. */
function conditionOf(volume: Volume, top: MountEntry | undefined, readOnly: boolean) {
  if (top !== undefined && !readOnly && isReadOnly(top)) {
    return { abnormal: true, message: "the file system went read-only after an error; see the kernel log" };
  }
  return conditionAnswer(volume);
}
