import { defined, failpoint } from "@mooring/store";
import { EngineError } from "../../errors.ts";
import { FreezeError } from "../../host/freezer/freezer.ts";
import type { PoolBackend } from "../../pools/backend.ts";
import type { Copy, GroupCopy } from "../../pools/group-copy.ts";
import type { Image } from "../../pools/image.ts";
import type { AgentContext } from "../context.ts";
import { flushUses } from "./flush-uses.ts";

const whileFrozen = failpoint("engine/copy/frozen");
const copiedWhileFrozen = failpoint("engine/copy/cloned-while-frozen");

/** Longer than the slowest reflink we have measured; after it the watchdog lets writes go on. */
const FREEZE_SECONDS = 20;

type Context = Pick<AgentContext, "host" | "logger" | "freezes">;

/** A single volume that is to be copied. */
interface MountedCopy {
  backend: PoolBackend;
  copy: Copy;
  /** Where its file system is mounted. */
  mount: string;
  signal: AbortSignal;
}

/**
 * Copies the image of a mounted volume while its file system is frozen, so that everything written before is in the
 * copy, synced or not. As for a group, what takes long lies outside of the freeze: dirty pages are written and images in
 * many pieces are copied before it, and the copy is made durable after it.
 *
 * A copy that was made for the most part before is completed in the freeze: if the watchdog let writes go on in the
 * middle of it, it is of no moment, and the image is cloned whole. That is one atomic operation, to which a thaw that
 * came too early does nothing.
 */
export async function copyMounted(context: Context, request: MountedCopy): Promise<Image> {
  const image = await attempt(context, request, true);
  return image ?? (await attempt(context, request, false)) ?? neverMade(request.copy.source);
}

/** Undefined: writes went on before a pre-copy was complete. */
async function attempt(
  context: Context,
  { backend, copy, mount, signal }: MountedCopy,
  still: boolean,
): Promise<Image | undefined> {
  const copies = [{ ...copy, still }];
  const preCopies = still ? await backend.preCopy(copies, signal) : undefined;
  let groupCopy: GroupCopy | undefined;
  try {
    await flushUses({ ...context, signal }, [{ use: { as: "filesystem", mount } }]);
    signal.throwIfAborted();
    groupCopy = await backend.beginCopy(copies, preCopies);
    await preCopies?.drop();
    const covered = await whileStill(context, mount, groupCopy);
    if (!covered)
      context.logger.warn({ image: copy.source }, "thawed by the watchdog before the copy was done");
    signal.throwIfAborted();
    const ofOneMoment = covered || !still || groupCopy.atomicity === "one-moment";
    if (ofOneMoment) return (await groupCopy.finish(signal))[0];
    await groupCopy.abandon();
    return undefined;
  } catch (error) {
    // Each whatever becomes of the other: what is left of pre-copies is swept later, what is not abandoned stays promised.
    await Promise.allSettled([preCopies?.drop(), groupCopy?.abandon()]);
    throw error;
  }
}

/** False: writes went on before the copy was done. */
async function whileStill({ freezes }: Context, mount: string, groupCopy: GroupCopy): Promise<boolean> {
  const freezer = await freezes.arm([{ kind: "filesystem", path: mount }], FREEZE_SECONDS);
  let covered = false;
  try {
    await freezer.freeze().catch((error: unknown) => {
      throw laterIfBusy(error);
    });
    whileFrozen();
    await groupCopy.copy();
    copiedWhileFrozen();
  } finally {
    covered = await freezer.thaw();
  }
  return covered;
}

/** Frozen by another program, which will thaw it: worth another attempt. */
function laterIfBusy(error: unknown): unknown {
  if (!(error instanceof FreezeError) || !error.busy) return error;
  return new EngineError("ABORTED", error.message, defined({ hint: error.hint }));
}

function neverMade(source: string): never {
  throw new EngineError("INTERNAL", `the copy of ${source} made no image`);
}
