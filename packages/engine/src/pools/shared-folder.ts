import { mkdir, stat, statfs } from "node:fs/promises";
import { EngineError } from "../errors.ts";
import type { Host } from "../host/host.ts";
import { absent } from "./file-images.ts";
import type { PoolLayout } from "./layout.ts";
import { plainFolder } from "./pool-filesystems.ts";

/** `f_type` of statfs(2). */
const XFS_MAGIC = 0x58465342;

/** Brings the folder that all nodes see below this node's own one. */
export async function openShared(
  host: Host,
  { images }: PoolLayout,
  { source, mount }: NonNullable<PoolLayout["shared"]>,
): Promise<void> {
  const folder = await stat(source).catch(absent);
  if (folder?.isDirectory() !== true) {
    throw new EngineError("FAILED_PRECONDITION", `there is no folder ${source} on this node`, {
      hint: "mount the shared file system there",
    });
  }
  const { type } = await statfs(source);
  if (type !== XFS_MAGIC) {
    throw new EngineError("FAILED_PRECONDITION", `${source} is not on an XFS file system`, {
      hint: "a shared pool clones images by reflink: mount the shared XFS there",
    });
  }
  await mkdir(mount, { recursive: true, mode: 0o700 });
  await host.mounts.bind(source, mount, { readOnly: false });
  await plainFolder(images);
}

/** Releases it; what is in it belongs to the other nodes as well. */
export async function closeShared(host: Host, { mount }: NonNullable<PoolLayout["shared"]>): Promise<void> {
  await host.mounts.unmount(mount);
}
