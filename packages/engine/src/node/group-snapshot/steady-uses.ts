import { EngineError } from "../../errors.ts";
import type { Clock } from "../../host/host.ts";
import { chooseQuiesce, type MemberUse, type Quiesce } from "./choose-quiesce.ts";

/** A tool that makes, checks, mounts or attaches something is through with the device by then. */
const PASSING_MS = 3000;
const STEP_MS = 100;

/**
 * What the members are used for and how they are kept still. mkfs, blkid and losetup have a device open in passing, and
 * so have those that outlive a killed Mooring: a user without a control group is read again before the member is
 * refused. So is a device whose user cannot be seen: it may have been mounted after the mounts were listed, and a
 * container that is just starting has a copy of every mount until it has left the old root. Throws what `chooseQuiesce`
 * throws.
 */
export async function steadyUses(
  read: () => Promise<MemberUse[]>,
  alone: boolean,
  clock: Pick<Clock, "sleep">,
): Promise<{ uses: MemberUse[]; quiesces: Quiesce[] }> {
  for (let waited = 0; ; waited += STEP_MS) {
    const uses = await read();
    try {
      return { uses, quiesces: chooseQuiesce(uses, alone) };
    } catch (error) {
      if (!(error instanceof EngineError) || waited >= PASSING_MS || !uses.some(maybePassing)) throw error;
    }
    await clock.sleep(STEP_MS);
  }
}

/** A folder in use is a bind mount that this process sees: nothing else would be seen of it later. */
const maybePassing = ({ use, pool }: MemberUse): boolean =>
  (use.as === "device" && use.cgroups.includes(undefined)) ||
  (use.as === "hidden" && pool.type !== "directory");
