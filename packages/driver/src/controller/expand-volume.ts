import { type CallContext, CsiError, type v1 } from "@mooring/csi";
import { isThickVolume, type Volume, Volumes } from "@mooring/engine";
import { describeBytes, failpoint, mutate } from "@mooring/store";
import type { DriverContext } from "../context.ts";
import { fromEngine } from "../errors.ts";
import { findPool, getVolume } from "../objects/find.ts";
import { availableBytes, describeRoom, roomHint } from "../objects/pool-room.ts";
import { parseCapability, requireCapability } from "../request/capability.ts";
import { chooseSize, parseRange } from "../request/size.ts";
import { waitUntil } from "../wait.ts";

type VolumeError = NonNullable<NonNullable<Volume["status"]>["error"]>;

const wished = failpoint("driver/expand-volume/size-recorded");

/**
 * ControllerExpandVolume: grows image and device, in use or not. Growing the file system is the node's part. A volume
 * that is large enough already stays as it is, unless it is above the limit.
 */
export async function expandVolume(
  driver: DriverContext,
  request: v1.ControllerExpandVolumeRequest,
  { signal }: CallContext,
) {
  const volume = await getVolume(driver.store, request.volumeId, signal);
  if (request.capacityRange === undefined) throw CsiError.invalidArgument("capacity_range is required");
  if (request.volumeCapability !== undefined) {
    requireCapability(volume, parseCapability(request.volumeCapability, "volume_capability"));
  }
  const range = parseRange(request.capacityRange);
  const current = BigInt(volume.spec.size);
  if (range.limitBytes !== 0n && range.limitBytes < current) {
    throw CsiError.outOfRange(
      `volume "${request.volumeId}" has ${current} bytes, more than limit_bytes ${range.limitBytes}`,
      {
        hint: "Volumes never shrink.",
      },
    );
  }
  const size = chooseSize(range, current, current);
  const grown = await grow(driver, volume, size, signal);
  return {
    capacityBytes: BigInt(grown.status?.size ?? grown.spec.size),
    // Without a file system there is nothing to grow: it is made as large as the volume.
    nodeExpansionRequired: volume.spec.volumeMode === "Filesystem" && grown.status?.formatted !== undefined,
  };
}

async function grow(
  driver: DriverContext,
  volume: Volume,
  size: bigint,
  signal: AbortSignal,
): Promise<Volume> {
  const { name } = volume.metadata;
  const before = volume.status?.error;
  if (size > BigInt(volume.spec.size)) {
    await requireRoom(driver, volume, size - BigInt(volume.spec.size), signal);
    // It only ever grows: another call may have asked for more meanwhile.
    await mutate(
      driver.store,
      Volumes,
      { name },
      {
        change: (v) => {
          v.spec.size = Math.max(v.spec.size, Number(size));
        },
        signal,
      },
    );
    wished();
  }
  const isLarge = (v: Volume) => BigInt(v.status?.size ?? 0) >= size;
  const isNew = (error: VolumeError) => error.code !== before?.code || error.message !== before.message;
  let last: Volume | undefined;
  const grown = await waitUntil(
    driver.store,
    { resource: Volumes, name },
    {
      what: `volume "${name}" to grow to ${describeBytes(size)}`,
      until: (v) => {
        last = v;
        const error = v?.status?.error;
        return v === undefined || isLarge(v) || (error !== undefined && isNew(error));
      },
      describe: (v) => v?.status?.error?.message ?? "",
      // An error that was there before may be of something else, or of an attempt that is made again right now.
      giveUp: async () => {
        if (last?.status?.error !== undefined) throw notGrown(last.status.error);
      },
    },
    signal,
  );
  if (grown === undefined) throw CsiError.notFound(`volume "${name}" was deleted`);
  if (!isLarge(grown) && grown.status?.error !== undefined) throw notGrown(grown.status.error);
  return grown;
}

/** What does not fit is OUT_OF_RANGE here (section "ControllerExpandVolume Errors"), unlike for a new volume. */
function notGrown(error: VolumeError): CsiError {
  if (error.code !== "RESOURCE_EXHAUSTED") return fromEngine(error);
  return CsiError.outOfRange(error.message, { hint: roomHint() });
}

/** Asked before the wish is recorded: a wish that cannot be met would stay for ever. */
async function requireRoom(
  driver: DriverContext,
  volume: Volume,
  more: bigint,
  signal: AbortSignal,
): Promise<void> {
  const pool = await findPool(driver.store, volume.spec.pool, signal);
  const provisioning = isThickVolume(volume) ? "thick" : "thin";
  if (pool === undefined || availableBytes(pool)[provisioning] >= more) return;
  throw CsiError.outOfRange(
    `no room for ${describeBytes(more)} more of volume "${volume.metadata.name}": ${describeRoom(pool)[provisioning]}`,
    { hint: roomHint(pool) },
  );
}
