import { CsiError, type v1 } from "@mooring/csi";
import { ENGINE_FINALIZER, MOORING_API_VERSION, type Pool, Pools, type Volume } from "@mooring/engine";
import type { DriverContext } from "../context.ts";
import { requireLimitable } from "../node/io-limits/require.ts";
import { onOneNode, widest } from "../request/access-modes.ts";
import { modeOf } from "../request/capability.ts";
import { defaultFs, FILE_SYSTEMS, type FsType, isFsType, SMALLEST_FS } from "../request/filesystems.ts";
import { POOL_PARAMETER } from "../request/parameters.ts";
import { chooseSize, DEFAULT_SIZE, max, roundUp } from "../request/size.ts";
import { multiNodeModes, toStored, unservable, type VolumeRequest } from "../request/volume-request.ts";
import { choosePool } from "./choose-pool.ts";
import { requireMigratableUse, sharedPools, wantsMigration } from "./migration.ts";
import { CREATED_AT, listObjects } from "./objects.ts";
import { readSource, type SourceFacts } from "./source.ts";

/**
 * Decides everything about a new volume: file system, size, pool. Throws the code that the specification gives to a
 * request that cannot be met: nothing has been made then. `full`: pools that turned out to have no room.
 */
export async function planVolume(
  driver: DriverContext,
  id: string,
  wanted: VolumeRequest,
  requirement: v1.TopologyRequirement | undefined,
  full: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<Volume> {
  const { store } = driver;
  requireServable(driver, wanted);
  const source = wanted.source === undefined ? undefined : await readSource(store, wanted.source, signal);
  const mount = wanted.capabilities.some((capability) => capability.access === "mount");
  const fixed = mount ? fsTypeOf(wanted, source) : undefined;
  const size = sizeOf(wanted, source, mount ? (fixed ?? SMALLEST_FS) : undefined);
  const fsType = mount ? (fixed ?? defaultFs(size)) : undefined;
  const pools = (await listObjects(store, Pools, signal)).filter(({ metadata }) => !full.has(metadata.name));
  const named = wanted.parameters[POOL_PARAMETER];
  const pool = choosePool(wantsMigration(wanted) ? sharedPools(pools, named) : pools, {
    pool: named,
    block: wanted.capabilities.some((capability) => capability.access === "block"),
    served: !driver.alone && !wantsMigration(wanted) && multiNodeModes(wanted.capabilities).length > 0,
    size,
    requirement,
    sourcePool: source?.pool,
  });
  await requireLimitable(driver, wanted.mutableParameters, pool);
  return volumeObject(driver, id, wanted, pool, fsType, size);
}

/**
 * Many nodes use a volume through the one that serves its file system; of raw bytes there is none to be served. Where
 * there is one node for good, nobody has to be served.
 */
function requireServable({ alone }: Pick<DriverContext, "alone">, wanted: VolumeRequest): void {
  if (wantsMigration(wanted)) {
    requireMigratableUse(wanted);
    return;
  }
  const reason = alone ? undefined : unservable(wanted.capabilities);
  if (reason === undefined) return;
  throw CsiError.invalidArgument(reason, {
    hint: "Ask for a file system, or use a SINGLE_NODE access mode.",
  });
}

/** The file system that was asked for, or that a copy has from its source; undefined: the choice is ours. */
function fsTypeOf(wanted: VolumeRequest, source: SourceFacts | undefined): FsType | undefined {
  const asked = wanted.capabilities.find((capability) => capability.fsType !== undefined)?.fsType;
  const found = source?.formatted;
  if (found !== undefined && asked !== undefined && found !== asked) {
    throw CsiError.invalidArgument(`the source has ${found} on it and cannot become a ${asked} volume`);
  }
  return found !== undefined && isFsType(found) ? found : asked;
}

function sizeOf(wanted: VolumeRequest, source: SourceFacts | undefined, fsType: FsType | undefined): bigint {
  const { limitBytes, requiredBytes } = wanted.range;
  const least = source?.size ?? 0n;
  const tooSmall =
    (limitBytes !== 0n && limitBytes < least) || (requiredBytes !== 0n && roundUp(requiredBytes) < least);
  if (tooSmall) {
    throw CsiError.outOfRange(`the source has ${least} bytes; a copy cannot be smaller`);
  }
  const minimum = fsType === undefined ? 1n : FILE_SYSTEMS[fsType].minimumBytes;
  return chooseSize(wanted.range, max(least, minimum), least === 0n ? DEFAULT_SIZE : least);
}

function volumeObject(
  { alone, host }: DriverContext,
  id: string,
  wanted: VolumeRequest,
  pool: Pool,
  fsType: FsType | undefined,
  size: bigint,
): Volume {
  const modes = wanted.capabilities.map(modeOf);
  return {
    apiVersion: MOORING_API_VERSION,
    kind: "Volume",
    metadata: {
      name: id,
      finalizers: [ENGINE_FINALIZER],
      annotations: { [CREATED_AT]: host.clock.now().toISOString() },
    },
    spec: {
      size: Number(size),
      pool: pool.metadata.name,
      volumeMode: fsType === undefined ? "Block" : "Filesystem",
      accessMode: widest(alone ? modes.map(onOneNode) : modes),
      request: toStored(wanted),
      ...(wantsMigration(wanted) ? { migratable: true } : {}),
      ...(fsType === undefined ? {} : { fsType }),
      ...(wanted.source === undefined ? {} : { source: wanted.source }),
      ...(Object.keys(wanted.mutableParameters).length === 0
        ? {}
        : { mutableParameters: wanted.mutableParameters }),
    },
  };
}
