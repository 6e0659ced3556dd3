import { failpoint } from "@mooring/store";
import { EngineError } from "../../errors.ts";
import { FreezeError } from "../../host/freezer/freezer.ts";
import type { PoolBackend } from "../../pools/backend.ts";
import type { Copy, GroupCopy } from "../../pools/group-copy.ts";
import type { Image } from "../../pools/image.ts";
import type { AgentContext } from "../context.ts";
import { flushUses } from "./flush-uses.ts";

const whileFrozen = failpoint("engine/cut/frozen");
const cutWhileFrozen = failpoint("engine/cut/cloned-while-frozen");

/** Longer than the slowest reflink we have measured; after it the watchdog lets writes go on. */
const FREEZE_SECONDS = 20;

type Context = Pick<AgentContext, "host" | "logger" | "freezes">;

/** A single volume that is to be copied. */
interface MountedCut {
  backend: PoolBackend;
  copy: Copy;
  /** Where its file system is mounted. */
  mount: string;
  signal: AbortSignal;
}

/**
 * Copies the image of a mounted volume while its file system is frozen, so that everything written before is in the
 * copy, synced or not. As for a group, what takes long lies outside of the pause: dirty pages are written and images in
 * many pieces are copied before it, and the copy is made durable after it.
 *
 * A copy that was made for the most part before is put together in the pause: if the watchdog let writes go on in the
 * middle of it, it is of no moment, and the image is cloned whole. That is one atomic operation, to which a thaw that
 * came too early does nothing.
 */
export async function copyMounted(context: Context, request: MountedCut): Promise<Image> {
  const image = await attempt(context, request, true);
  return image ?? (await attempt(context, request, false)) ?? neverMade(request.copy.source);
}

/** Undefined: writes went on before an early copy was done. */
async function attempt(
  context: Context,
  { backend, copy, mount, signal }: MountedCut,
  still: boolean,
): Promise<Image | undefined> {
  const copies = [{ ...copy, still }];
  const early = still ? await backend.copyEarly(copies, signal) : undefined;
  let cut: GroupCopy | undefined;
  try {
    await flushUses({ ...context, signal }, [{ use: { as: "filesystem", mount } }]);
    signal.throwIfAborted();
    cut = await backend.beginCut(copies, early);
    await early?.drop();
    const covered = await whileStill(context, mount, cut);
    if (!covered)
      context.logger.warn({ image: copy.source }, "thawed by the watchdog before the copy was done");
    signal.throwIfAborted();
    const ofOneMoment = covered || !still || cut.atomicity === "one-moment";
    if (ofOneMoment) return (await cut.finish())[0];
    await cut.abandon();
    return undefined;
  } catch (error) {
    await early?.drop();
    await cut?.abandon();
    throw error;
  }
}

/** False: writes went on before the cut was done. */
async function whileStill({ freezes }: Context, mount: string, cut: GroupCopy): Promise<boolean> {
  const freezer = await freezes.arm([{ kind: "filesystem", path: mount }], FREEZE_SECONDS);
  let covered = false;
  try {
    await freezer.freeze().catch((error: unknown) => {
      throw laterIfBusy(error);
    });
    whileFrozen();
    await cut.cut();
    cutWhileFrozen();
  } finally {
    covered = await freezer.thaw();
  }
  return covered;
}

/** Frozen by somebody else, who will thaw it: worth another attempt. */
function laterIfBusy(error: unknown): unknown {
  if (!(error instanceof FreezeError) || !error.busy) return error;
  return new EngineError("ABORTED", error.message, error.hint === undefined ? {} : { hint: error.hint });
}

function neverMade(source: string): never {
  throw new EngineError("INTERNAL", `the cut of ${source} made no image`);
}
