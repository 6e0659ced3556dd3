import { open } from "node:fs/promises";
import { failpoint } from "@mooring/store";
import { EngineError } from "../errors.ts";
import { FreezeError } from "../host/freezer/freezer.ts";
import type { Image } from "../pools/backend.ts";
import { folderUsers } from "../pools/folder-users.ts";
import type { AgentContext } from "./context.ts";
import { cutKey } from "./cuts.ts";
import type { OpenPool } from "./open-pools.ts";
import { visibleMount } from "./visible-mount.ts";

const whileFrozen = failpoint("engine/cut/frozen");
const cutWhileFrozen = failpoint("engine/cut/cloned-while-frozen");

/** Longer than the slowest reflink we have measured; after it the watchdog lets writes go on. */
const FREEZE_SECONDS = 20;

export interface Cut {
  /** Image to copy. */
  source: string;
  /** Image to make. */
  id: string;
  /** Bytes of the new image; default the source's. */
  size?: number;
  /** Throws when the source may not be copied any more; asked once nobody else can be copying or detaching it. */
  stillHeld?: () => Promise<void>;
}

/**
 * Copies an image at one point in time, in use or not. A mounted file system is frozen for it, so that everything
 * written before is in the copy, synced or not. A reflink is atomic by itself, so a thaw that came too early costs
 * only that.
 */
export async function cut(context: AgentContext, pool: OpenPool, request: Cut): Promise<Image> {
  return context.cuts.run(cutKey(pool.name, request.source), async (interrupted) => {
    await request.stillHeld?.();
    const signal = AbortSignal.any([context.signal, interrupted]);
    const source = await pool.backend.find(request.source);
    if (source === undefined) throw new EngineError("NOT_FOUND", `there is no image ${request.source}`);
    const clone = (): Promise<Image> =>
      pool.backend.clone(request.source, request.id, request.size ?? source.size, signal);
    return pool.backend.block ? cutDevice(context, source, clone) : cutFolder(context, source, clone);
  });
}

async function cutDevice(context: AgentContext, source: Image, clone: () => Promise<Image>): Promise<Image> {
  const { host, logger, freezes } = context;
  const device = await host.loops.find(source.path);
  if (device === undefined) return clone();
  const mount = await visibleMount(await host.mounts.list(), device.path);
  if (mount === undefined) {
    await flush(device.path);
    return clone();
  }
  const freezer = await freezes.arm([{ kind: "filesystem", path: mount.target }], FREEZE_SECONDS);
  try {
    await freezer.freeze().catch((error: unknown) => {
      throw laterIfBusy(error);
    });
    whileFrozen();
    const image = await clone();
    cutWhileFrozen();
    return image;
  } finally {
    const covered = await freezer.thaw();
    if (!covered) logger.warn({ image: source.id }, "thawed by the watchdog before the copy was done");
  }
}

/** Frozen by somebody else, who will thaw it: worth another attempt. */
function laterIfBusy(error: unknown): unknown {
  if (!(error instanceof FreezeError) || !error.busy) return error;
  return new EngineError("ABORTED", error.message, error.hint === undefined ? {} : { hint: error.hint });
}

/** A raw device in use: what its users have written is handed to the image; more cannot be asked of them. */
async function flush(device: string): Promise<void> {
  const handle = await open(device, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** A folder is copied file by file, so what is being written would be copied half old, half new. */
async function cutFolder(context: AgentContext, source: Image, clone: () => Promise<Image>): Promise<Image> {
  const users = folderUsers(await context.host.mounts.list(), source.path);
  if (users.length === 0) return clone();
  throw new EngineError("FAILED_PRECONDITION", `${source.id} is a folder in use at ${users.join(", ")}`, {
    hint: "stop its workload first, or use an xfs or btrfs pool: those copy volumes in use at one point in time",
  });
}
