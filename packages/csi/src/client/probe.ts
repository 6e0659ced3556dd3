import { Code } from "../errors/codes.ts";
import { CsiError } from "../errors/csi-error.ts";
import { toCsiError } from "../errors/status.ts";
import type { CsiClient } from "./csi-client.ts";
import { wait } from "./retry.ts";

/** How `probeUntilReady` calls Probe. Times in milliseconds. */
export interface ProbeOptions {
  signal?: AbortSignal;
  /** In all. Default: no limit but the signal. */
  timeoutMs?: number;
  /** Between two probes. Default 500. */
  intervalMs?: number;
  /** For one probe. Default 5,000. */
  probeTimeoutMs?: number;
}

/** A plugin that is starting, restarting or repairing itself returns so; any other code is final. */
const NOT_YET: readonly Code[] = [Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED, Code.FAILED_PRECONDITION];

/**
 * Settles when the plugin reports that it is ready (a missing `ready` counts as ready, section "Probe"). Throws
 * DEADLINE_EXCEEDED with the plugin's last response, CANCELLED, or the code of a plugin that cannot be probed.
 */
export async function probeUntilReady(client: CsiClient, options: ProbeOptions = {}): Promise<void> {
  const { signal, timeoutMs = Infinity, intervalMs = 500, probeTimeoutMs = 5000 } = options;
  const end = Date.now() + timeoutMs;
  for (;;) {
    const left = end - Date.now();
    const failure = await probe(client, Math.min(left, probeTimeoutMs), signal);
    if (failure === undefined) return;
    if (Date.now() + intervalMs >= end) {
      throw CsiError.deadlineExceeded(`the plugin is not ready: ${failure.message}`, {
        reason: "CSI_NOT_READY",
        cause: failure,
      });
    }
    await wait(intervalMs, signal);
  }
}

async function probe(client: CsiClient, timeoutMs: number, signal: AbortSignal | undefined) {
  try {
    const { ready } = await client.identity.probe({}, { timeoutMs, ...(signal ? { signal } : {}) });
    return ready === false ? CsiError.unavailable("it reports that it is starting") : undefined;
  } catch (thrown) {
    const error = toCsiError(thrown);
    if (signal?.aborted !== true && NOT_YET.includes(error.code)) return error;
    throw error;
  }
}
