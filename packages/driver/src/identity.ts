import { CsiError, type Services } from "@mooring/csi";
import { DRIVER_NAME, hasFailedFilesystem, type Pool, Pools } from "@mooring/engine";
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
      const isSettled = (pool: Pool) =>
        pool.status?.ready === true || isBroken(pool) || hasFailedFilesystem(pool);
      return { ready: own.every(isSettled) };
    },
  };
}

const notReady = (pool: Pool) =>
  pool.status?.conditions?.find((c) => c.type === "Ready" && c.status === "False");

/**
 * A pool without a result is still being opened. One whose file system has failed under open volumes needs this plugin to
 * close them: an orchestrator that restarts or shuns an unhealthy plugin would keep it as it is.
 */
function isBroken(pool: Pool): boolean {
  return pool.status?.ready === false && notReady(pool) !== undefined && !hasFailedFilesystem(pool);
}

function whyNot(pool: Pool): string {
  return notReady(pool)?.message ?? "it is not ready";
}
