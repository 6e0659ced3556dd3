import { within } from "@mooring/store";
import type { AgentContext } from "../context.ts";
import type { MemberUse } from "../group-snapshot/choose-quiesce.ts";

const MAX_MS = 30_000;

/**
 * Writes out what is dirty while all writers go on, so that little is left to write in the freeze. Only that: what it
 * cannot write is written, or fails, in the freeze.
 */
export async function flushUses(
  { host, logger, signal }: Pick<AgentContext, "host" | "logger" | "signal">,
  uses: readonly Pick<MemberUse, "use">[],
): Promise<void> {
  const dirty = uses.flatMap(({ use }) => {
    if (use.as === "filesystem") return [["--file-system", use.mount]];
    return use.as === "device" ? [[use.device]] : [];
  });
  await within(MAX_MS, signal, async (limit) => {
    // One after the other: all at once would stop writers like a freeze.
    for (const what of dirty) {
      await host.exec.run("sync", what, { signal: limit }).catch((error: unknown) => {
        logger.warn({ err: error, what }, "cannot flush before a copy");
      });
    }
  });
}
