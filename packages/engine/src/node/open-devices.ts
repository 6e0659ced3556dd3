import { folderUsers } from "../pools/folder-users.ts";
import type { AgentContext } from "./context.ts";
import { isPoolHere, layoutOf } from "./pool/layout-of.ts";

/**
 * What is left of this node's pools in the kernel, as paths: the pools that this process has open are not enough, because
 * one that could not be opened may have devices of an earlier agent's. Needs the Pool objects to be known.
 */
export async function openDevices(context: AgentContext): Promise<string[]> {
  const { host, poolObjects, stateDir } = context;
  const own = poolObjects.list().filter((pool) => isPoolHere(context, pool));
  const layouts = own.map((pool) => ({ pool, layout: layoutOf(context, pool) }));
  const open: string[] = [];
  for (const { path, backingFile } of await host.loops.list()) {
    const ofPool = layouts.some(({ layout }) => backingFile.startsWith(`${layout.folder}/`));
    // Only this node has the state folder. Another path may be another node's file, in another mount namespace.
    const ours = ofPool && (await host.loops.find(backingFile))?.path === path;
    if (backingFile.startsWith(`${stateDir}/`) || ours) open.push(path);
  }
  const mounts = await host.mounts.list();
  const folders = layouts.filter(({ pool }) => pool.spec.type === "directory");
  for (const { layout } of folders) open.push(...folderUsers(mounts, layout.images));
  return open;
}
