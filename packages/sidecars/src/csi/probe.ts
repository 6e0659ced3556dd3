import { Code, type CsiClient } from "@mooring/csi";
import { delay, type Logger } from "@mooring/store";
import { callFailure } from "./codes.ts";

/** Codes of a driver while it starts. Any other means that something is wrong with it. */
const STARTING: ReadonlySet<number> = new Set([Code.DEADLINE_EXCEEDED, Code.UNAVAILABLE]);
const BETWEEN_MS = 1_000;
const FIRST_MS = 50;

/** Probes until the driver reports that it is ready; one that takes long is logged once. Throws what a broken driver returns. */
export async function waitUntilReady(
  client: CsiClient,
  { signal, timeoutMs, logger }: { signal: AbortSignal; timeoutMs: number; logger: Logger },
): Promise<void> {
  for (let interval = FIRST_MS; ; interval = Math.min(interval * 2, BETWEEN_MS)) {
    signal.throwIfAborted();
    const missing = await whatIsMissing(client, signal, timeoutMs);
    if (missing === undefined) return;
    if (interval * 2 >= BETWEEN_MS && interval < BETWEEN_MS)
      logger.warn({ error: missing }, "the driver is not ready yet; waiting for it");
    await delay(interval, signal);
  }
}

async function whatIsMissing(
  client: CsiClient,
  signal: AbortSignal,
  timeoutMs: number,
): Promise<string | undefined> {
  try {
    const { ready } = await client.identity.probe({}, { signal, timeoutMs });
    // An absent `ready` means yes.
    return (ready ?? true) ? undefined : "it answers that it is not ready";
  } catch (error) {
    const { code, message } = callFailure(error);
    if (code !== undefined && STARTING.has(code)) return message;
    throw error;
  }
}
