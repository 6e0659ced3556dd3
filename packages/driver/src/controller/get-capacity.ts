import { type CallContext, CsiError, type v1 } from "@mooring/csi";
import { canBeThick, hasImageFeatures, Pools } from "@mooring/engine";
import type { DriverContext } from "../context.ts";
import { listObjects } from "../objects/find.ts";
import { availableBytes } from "../objects/pool-room.ts";
import {
  type Capability,
  FILE_SYSTEMS,
  parseCapability,
  SMALLEST_FS,
  unservable,
} from "../request/capability.ts";
import { imageFeaturesOf, isMigratable, POOL_PARAMETER, provisioningOf } from "../request/parameters.ts";
import { max, roundUp, SECTOR } from "../request/size.ts";
import { reaches } from "./choose-pool.ts";

/**
 * GetCapacity. What no pool could ever make (an unknown pool, another node, an unsupported capability) has capacity 0:
 * the caller requests what there is, and there is none.
 */
export async function getCapacity(
  driver: DriverContext,
  request: v1.GetCapacityRequest,
  { signal }: CallContext,
) {
  const pools = await listObjects(driver.store, Pools, signal);
  const capabilities = supported(driver, request);
  const block = capabilities?.some(({ mount }) => mount === undefined) ?? false;
  const many = !driver.alone && (capabilities ?? []).some(({ mode }) => mode.multiNode);
  const wanted = request.parameters[POOL_PARAMETER];
  const topology = request.accessibleTopology;
  const provisioning = provisioningOf(request.parameters) ?? "thin";
  const thick = provisioning === "thick";
  const featured = imageFeaturesOf(request.parameters) !== undefined;
  const rooms = pools
    .filter((pool) => capabilities !== undefined && (wanted === undefined || pool.metadata.name === wanted))
    .filter((pool) => topology === undefined || many || reaches(pool)(topology))
    .filter((pool) => (!block && !many) || pool.spec.type !== "directory")
    .filter(({ spec }) => !thick || canBeThick(spec.type, spec.mode === "shared"))
    .filter((pool) => !featured || hasImageFeatures(pool))
    .map((pool) => (availableBytes(pool)[provisioning] / SECTOR) * SECTOR);
  const largest = rooms.reduce(max, 0n);
  return {
    availableCapacity: rooms.reduce((sum, room) => sum + room, 0n),
    maximumVolumeSize: largest,
    minimumVolumeSize: roundUp(smallest(capabilities ?? [])),
  };
}

/** Undefined when a capability in the request is not supported. */
function supported(
  { alone }: Pick<DriverContext, "alone">,
  request: v1.GetCapacityRequest,
): Capability[] | undefined {
  try {
    const parsed = request.volumeCapabilities.map((c, index) =>
      parseCapability(c, `volume_capabilities[${index}]`),
    );
    return alone || isMigratable(request.parameters) || unservable(parsed) === undefined ? parsed : undefined;
  } catch (error) {
    if (error instanceof CsiError) return undefined;
    throw error;
  }
}

function smallest(capabilities: readonly Capability[]): bigint {
  const mounts = capabilities.flatMap(({ mount }) => mount ?? []);
  const minimums = mounts.map(({ fsType }) => FILE_SYSTEMS[fsType ?? SMALLEST_FS].minimumBytes);
  return minimums.reduce(max, SECTOR);
}
