import { firstOf } from "@mooring/store";
import type { ImageFeature } from "../../api/image-features.ts";
import { EngineError } from "../../errors.ts";
import { syncFile } from "../../pools/durable.ts";
import { folderUsers } from "../../pools/folder-users.ts";
import type { Image } from "../../pools/image.ts";
import type { AgentContext } from "../context.ts";
import type { OpenPool } from "../open-pools.ts";
import { copyKey } from "./copies.ts";
import { copyMounted } from "./copy-mounted.ts";
import { visibleMount } from "./visible-mount.ts";

interface CopyRequest {
  /** Image to copy. */
  source: string;
  /** Image to make. */
  id: string;
  /** Bytes of the new image; default the source's. */
  size?: number;
  /** The new image is to be thick. */
  thick?: boolean;
  /** As in `MakeOptions`. */
  imageFeatures?: readonly ImageFeature[] | undefined;
  /** Throws when the source may not be copied any more; called once no other controller can be copying or detaching it. */
  requireSource?: () => Promise<void>;
}

/** Copies an image at one point in time, in use or not. A mounted file system is frozen for it. */
export async function copyImage(context: AgentContext, pool: OpenPool, request: CopyRequest): Promise<Image> {
  return context.copies.run(copyKey(pool.name, request.source), (interrupted) =>
    firstOf([context.signal, interrupted], (signal) => copyAlone(context, pool, request, signal)),
  );
}

async function copyAlone(
  context: AgentContext,
  pool: OpenPool,
  request: CopyRequest,
  signal: AbortSignal,
): Promise<Image> {
  await request.requireSource?.();
  const source = await pool.backend.find(request.source);
  if (source === undefined) throw new EngineError("NOT_FOUND", `there is no image ${request.source}`);
  const { id, thick = false, imageFeatures, size = source.size } = request;
  const options = { thick, imageFeatures };
  const clone = (): Promise<Image> => pool.backend.clone(request.source, id, size, { signal, ...options });
  if (!pool.backend.block) return copyFolder(context, source, clone);
  const device = await context.host.loops.find(source.path);
  // One that an earlier life has made, and not reported.
  if (device === undefined || (await pool.backend.find(id)) !== undefined) return clone();
  const mount = await visibleMount(await context.host.mounts.list(), device.path);
  if (mount === undefined) {
    // A raw device in use: what its users have written is handed to the image; more cannot be asked of them.
    await syncFile(device.path);
    return clone();
  }
  const copy = { source: request.source, id, size, ...options };
  return copyMounted(context, { backend: pool.backend, copy, mount: mount.target, signal });
}

/** A folder is copied file by file, so what is being written would be copied half old, half new. */
async function copyFolder(context: AgentContext, source: Image, clone: () => Promise<Image>): Promise<Image> {
  const users = folderUsers(await context.host.mounts.list(), source.path);
  if (users.length === 0) return clone();
  throw new EngineError("FAILED_PRECONDITION", `${source.id} is a folder in use at ${users.join(", ")}`, {
    hint: "stop its workload first, or use an xfs or btrfs pool: those copy volumes in use at one point in time",
  });
}
