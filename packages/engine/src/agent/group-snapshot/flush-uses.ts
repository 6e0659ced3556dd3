import { setMaxListeners } from "node:events";
import type { AgentContext } from "../context.ts";
import type { MemberUse } from "./choose-quiesce.ts";

const MAX_MS = 30_000;

/**
 * Writes out what is dirty while everybody goes on, so that little is left to write in the pause. Only that: what it
 * cannot write is written, or fails, in the barrier.
 */
export async function flushUses(
  { host, logger, signal }: AgentContext,
  uses: readonly MemberUse[],
): Promise<void> {
  const mounts = uses.flatMap(({ use }) => (use.as === "filesystem" ? [use.mount] : []));
  if (mounts.length === 0) return;
  const limit = AbortSignal.any([signal, AbortSignal.timeout(MAX_MS)]);
  setMaxListeners(0, limit);
  const work = mounts.map((mount) => host.exec.run("sync", ["--file-system", mount], { signal: limit }));
  for (const result of await Promise.allSettled(work)) {
    if (result.status === "rejected") logger.warn({ err: result.reason }, "cannot flush before a barrier");
  }
}
