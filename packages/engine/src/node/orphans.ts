import { getIfAny } from "@mooring/store";
import { Volumes } from "../api/volume.ts";
import type { AgentContext } from "./context.ts";
import type { OpenPool } from "./open-pools.ts";

/**
 * Detaches loop devices of our images that no volume explains: what is left when a volume's record was removed by
 * hand, or an image was deleted under its device. One that a process uses stays, and is reported.
 */
export async function detachOrphans(context: AgentContext, pool: OpenPool): Promise<void> {
  const { host, store, logger, signal } = context;
  if (!pool.backend.block) return;
  for (const loop of await host.loops.list(pool.layout.images)) {
    const id = imageOf(loop.backingFile, pool);
    if (id === undefined) continue;
    // The same path in another mount namespace is another node's file.
    if ((await host.loops.find(loop.backingFile))?.path !== loop.path) continue;
    const volume = await getIfAny(store, Volumes, { name: id }, signal);
    if (volume !== undefined) continue;
    const users = await host.loops.users(loop.path);
    if (users.length > 0) {
      logger.warn({ device: loop.path, image: id, users }, "a device without a volume is in use; it stays");
      continue;
    }
    logger.info({ device: loop.path, image: id }, "detaching a device without a volume");
    await pool.backend.devices.detach(loop);
  }
}

/** Detaches fenced devices of images in shared pools that this node's earlier agents have left, and that have no volume any more. */
export async function detachFenced({ host, store, sharing, logger, signal }: AgentContext): Promise<void> {
  for (const image of sharing?.leases.leftImages() ?? []) {
    if ((await getIfAny(store, Volumes, { name: image }, signal)) !== undefined) continue;
    for (const loop of (await sharing?.leases.left(image)) ?? []) {
      logger.info({ device: loop.path, image }, "detaching a fenced device without a volume");
      await host.loops.detach(loop, { lastUser: true });
    }
  }
}

/** `v-p-1` for a file of the pool. */
function imageOf(file: string, { layout }: OpenPool): string | undefined {
  if (!file.startsWith(`${layout.images}/`)) return undefined;
  return /\/([vs]-[a-z0-9-]+)\.img$/.exec(file)?.[1];
}
