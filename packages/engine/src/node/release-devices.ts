import type { AgentContext } from "./context.ts";
import type { OpenPool } from "./open-pools.ts";

/**
 * Detaches the devices of a pool that no process uses, for an agent that goes away together with all its workloads. The
 * records are still attached: the next agent opens them again, under whatever device is free then.
 */
export async function releaseDevices(
  { host, logger }: AgentContext,
  { layout, backend }: OpenPool,
): Promise<void> {
  if (!backend.block) return;
  for (const loop of await host.loops.list(layout.images)) {
    // The same path in another mount namespace is another node's file.
    if ((await host.loops.find(loop.backingFile))?.path !== loop.path) continue;
    const users = await host.loops.users(loop.path);
    if (users.length === 0) await backend.devices.detach(loop);
    else logger.warn({ device: loop.path, users }, "a device is still in use; it stays");
  }
}
