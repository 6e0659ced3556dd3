import { Code, CsiError } from "@mooring/csi";
import {
  ENGINE_FINALIZER,
  isServed,
  MOORING_API_VERSION,
  Pools,
  type Snapshot,
  type Volume,
  type VolumeSource,
} from "@mooring/engine";
import { defined, describeBytes, type ObjectStore } from "@mooring/store";
import type { DriverContext } from "../context.ts";
import { nothingMade } from "../errors.ts";
import { CREATED_AT, findPool, findSnapshot, findVolume, listObjects } from "../objects/find.ts";
import { requireLimitable } from "../objects/io-limits.ts";
import {
  defaultFs,
  FILE_SYSTEMS,
  type FsType,
  isFsType,
  onOneNode,
  SMALLEST_FS,
  widest,
} from "../request/capability.ts";
import { chooseSize, DEFAULT_SIZE, max, roundUp } from "../request/size.ts";
import { differences, storedRequest, type VolumeRequest } from "../request/volume-request.ts";
import { choosePool, reaches } from "./choose-pool.ts";

/**
 * Decides everything about a new volume: file system, size, pool. Throws the code that the specification gives to a
 * request that cannot be met: nothing has been made then. `full`: pools that turned out to have no room.
 */
export async function planVolume(
  driver: DriverContext,
  request: VolumeRequest,
  full: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<Volume> {
  requireFit(driver, request);
  const { id, capabilities, migratable, mutableParameters, provisioningType, source, stored } = request;
  const { imageFeatures } = request;
  const copied = source === undefined ? undefined : await readSource(driver.store, source, signal);
  const asked = fsTypeOf(request, copied);
  const least = leastSize(request, copied, asked);
  const size = chooseSize(request.range, least, copied?.size || DEFAULT_SIZE);
  const fsType = request.mount ? (asked ?? defaultFs(size)) : undefined;
  const pools = await listObjects(driver.store, Pools, signal);
  const modes = capabilities.map(({ mode }) => (driver.alone ? onOneNode(mode) : mode));
  const pool = choosePool(
    pools.filter(({ metadata }) => !full.has(metadata.name)),
    {
      pool: request.pool,
      block: request.block,
      served: !migratable && modes.some(({ multiNode }) => multiNode),
      migratable,
      thick: provisioningType === "thick",
      featured: imageFeatures !== undefined,
      size,
      accessibilityRequirements: request.accessibilityRequirements,
      sourcePool: copied?.pool,
    },
  );
  await requireLimitable(driver, mutableParameters, pool);
  return {
    apiVersion: MOORING_API_VERSION,
    kind: "Volume",
    metadata: {
      name: id,
      finalizers: [ENGINE_FINALIZER],
      annotations: { [CREATED_AT]: driver.host.clock.now().toISOString() },
    },
    spec: {
      size: Number(size),
      pool: pool.metadata.name,
      volumeMode: fsType === undefined ? "Block" : "Filesystem",
      accessMode: widest(modes),
      request: stored,
      ...defined({
        fsType,
        source,
        migratable: migratable || undefined,
        provisioningType,
        imageFeatures,
        mutableParameters: Object.keys(mutableParameters).length === 0 ? undefined : mutableParameters,
      }),
    },
  };
}

/** Throws ALREADY_EXISTS when the volume of the name is not the one that is asked for, ABORTED while it is being deleted. */
export async function requireSame(
  driver: DriverContext,
  present: Volume,
  { name, accessibilityRequirements, stored }: VolumeRequest,
  signal: AbortSignal,
): Promise<void> {
  if (present.metadata.deletionTimestamp !== undefined) {
    throw CsiError.aborted(`volume "${present.metadata.name}" of this name is being deleted`);
  }
  const before = storedRequest(present.spec.request);
  const different = before === undefined ? ["name"] : differences(before, stored);
  if (different.length > 0) {
    throw CsiError.alreadyExists(`volume "${name}" exists with other ${different.join(", ")}`, {
      hint: "Repeat a call with its first arguments, or use another name.",
    });
  }
  const pool = await findPool(driver.store, present.spec.pool, signal);
  const requisite = accessibilityRequirements?.requisite ?? [];
  if (pool !== undefined && !isServed(present) && requisite.length > 0 && !requisite.some(reaches(pool))) {
    throw CsiError.alreadyExists(`volume "${name}" exists, but is not reachable from the requisite topology`);
  }
}

/** Where there is one node for good, no workload has to be served by another one. */
function requireFit({ alone }: Pick<DriverContext, "alone">, { migratable, unfit }: VolumeRequest): void {
  if (unfit === undefined || (alone && !migratable)) return;
  throw CsiError.invalidArgument(unfit.reason, { hint: unfit.hint });
}

/**
 * The file system that was asked for, or that a copy has from its source; undefined: there is none, or the choice is ours.
 */
function fsTypeOf({ mount, fsType }: VolumeRequest, source: SourceFacts | undefined): FsType | undefined {
  if (!mount) return undefined;
  const found = source?.formatted;
  if (found !== undefined && fsType !== undefined && found !== fsType) {
    throw CsiError.invalidArgument(`the source has ${found} on it and cannot become a ${fsType} volume`);
  }
  return found !== undefined && isFsType(found) ? found : fsType;
}

/**
 * Bytes that the volume has to have at least. A copy is never smaller than its source; a request for less than a file
 * system takes gets what it takes, as the source may have.
 */
function leastSize(
  { mount, range: { limitBytes, requiredBytes } }: VolumeRequest,
  source: SourceFacts | undefined,
  fsType: FsType = SMALLEST_FS,
): bigint {
  const least = source?.size ?? 0n;
  const smallest = mount ? FILE_SYSTEMS[fsType].minimumBytes : 1n;
  const wanted = roundUp(max(requiredBytes, smallest));
  const tooSmall = (limitBytes !== 0n && limitBytes < least) || (requiredBytes !== 0n && wanted < least);
  if (tooSmall) {
    throw CsiError.outOfRange(`the source has ${describeBytes(least)}; a copy cannot be smaller`);
  }
  return max(least, smallest);
}

/** What CreateVolume reads of the volume or snapshot that it copies. */
interface SourceFacts {
  pool: string;
  /** Bytes that a copy has at least. */
  size: bigint;
  /** File system on it, if one was ever made. */
  formatted: string | undefined;
}

/** Throws NOT_FOUND for a source that is not there, or that is about to go. */
async function readSource(
  store: ObjectStore,
  { kind, name }: VolumeSource,
  signal: AbortSignal,
): Promise<SourceFacts> {
  const find = kind === "Snapshot" ? findSnapshot : findVolume;
  const source = await find(store, name, signal);
  if (source === undefined || source.metadata.deletionTimestamp !== undefined) {
    throw CsiError.notFound(`${kind.toLowerCase()} "${name}" does not exist`);
  }
  return isSnapshot(source) ? snapshotFacts(source) : volumeFacts(source);
}

const isSnapshot = (source: Snapshot | Volume): source is Snapshot => source.kind === "Snapshot";

function snapshotFacts({ metadata, spec, status }: Snapshot): SourceFacts {
  if (status?.error?.code === "DATA_LOSS") {
    throw nothingMade(
      new CsiError(Code.DATA_LOSS, status.error.message, {
        hint: "Delete the snapshot, and what waits to be made from it: its data do not come back.",
      }),
    );
  }
  if (status?.readyToUse !== true) {
    throw CsiError.unavailable(`snapshot "${metadata.name}" is not ready to use yet`);
  }
  return { pool: spec.pool, size: BigInt(status.restoreSize ?? 0), formatted: status.formatted };
}

function volumeFacts({ metadata, spec, status }: Volume): SourceFacts {
  if (status?.size === undefined) {
    throw CsiError.unavailable(`volume "${metadata.name}" is still being created`);
  }
  return { pool: spec.pool, size: BigInt(status.size), formatted: status.formatted };
}
