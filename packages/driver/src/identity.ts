import { CsiError, type Services } from "@mooring/csi";
import { DRIVER_NAME, hasFailedFilesystem, isMissing, type Pool, Pools } from "@mooring/engine";
import { pluginCapabilities } from "./capabilities.ts";
import type { DriverContext } from "./context.ts";
import { listObjects } from "./objects/find.ts";

/**
 * The Identity service. Probe is about this node's pools only, and costs one read of the store. A controller has none: it
 * serves whatever has become of the pools of one node, or of all.
 */
export function identityService(driver: DriverContext): NonNullable<Services["identity"]> {
  return {
    // Instances of one version have the same capabilities, so what lacks the controller service is another version.
    getPluginInfo: () => ({
      name: DRIVER_NAME,
      vendorVersion: driver.nodeOnly ? `${driver.version}+node-only` : driver.version,
    }),
    getPluginCapabilities: () => pluginCapabilities(driver),
    probe: async (_request, { signal }) => {
      const pools = await listObjects(driver.store, Pools, signal);
      const own =
        driver.mode === "controller" && !driver.alone
          ? []
          : pools.filter((pool) => pool.spec.nodeID === driver.nodeID);
      const broken = own.filter(isBroken);
      const [first] = broken;
      // One that works is served, whatever has become of the others.
      if (first !== undefined && broken.length === own.length) {
        throw CsiError.failedPrecondition(`pool "${first.metadata.name}" is not usable: ${whyNot(first)}`);
      }
      const isSettled = (pool: Pool) => pool.status?.ready === true || isBroken(pool) || needsPlugin(pool);
      return { ready: own.every(isSettled) };
    },
  };
}

const notReady = (pool: Pool) =>
  pool.status?.conditions?.find((c) => c.type === "Ready" && c.status === "False");

/** A pool without a result is still being opened. */
function isBroken(pool: Pool): boolean {
  return pool.status?.ready === false && notReady(pool) !== undefined && !needsPlugin(pool);
}

/**
 * One whose file system has failed under open volumes needs this plugin to close them, one that is missing to give them up: an
 * orchestrator that restarts or shuns an unhealthy plugin would keep it as it is.
 */
function needsPlugin(pool: Pool): boolean {
  return hasFailedFilesystem(pool) || isMissing(pool);
}

function whyNot(pool: Pool): string {
  return notReady(pool)?.message ?? "it is not ready";
}
