import { Code, type CsiClient, inItsVersion } from "@mooring/csi";
import { delay, type Logger } from "@mooring/store";
import { callFailure } from "./codes.ts";

/** Codes of a driver while it starts. Any other means that something is wrong with it. */
const STARTING: ReadonlySet<number> = new Set([Code.DEADLINE_EXCEEDED, Code.UNAVAILABLE]);
const BETWEEN_MS = 1_000;
const FIRST_MS = 50;

/**
 * Probes until the driver reports that it is ready; one that takes long is logged once. Resolves with how to call it: by csi.v1, or
 * through csi.v0 where it has nothing else. Throws what a broken driver returns.
 */
export async function waitUntilReady(
  client: CsiClient,
  { signal, timeoutMs, logger }: { signal: AbortSignal; timeoutMs: number; logger: Logger },
): Promise<CsiClient> {
  for (let interval = FIRST_MS; ; interval = Math.min(interval * 2, BETWEEN_MS)) {
    signal.throwIfAborted();
    const found = await probeOnce(client, signal, timeoutMs);
    if ("client" in found) return found.client;
    const { missing } = found;
    if (interval * 2 >= BETWEEN_MS && interval < BETWEEN_MS)
      logger.warn({ error: missing }, "the driver is not ready yet; waiting for it");
    await delay(interval, signal);
  }
}

async function probeOnce(
  client: CsiClient,
  signal: AbortSignal,
  timeoutMs: number,
): Promise<{ client: CsiClient } | { missing: string }> {
  try {
    const inIts = await inItsVersion(client, { signal, timeoutMs });
    const { ready } = await inIts.identity.probe({}, { signal, timeoutMs });
    // An absent `ready` means yes.
    return (ready ?? true) ? { client: inIts } : { missing: "it responds that it is not ready" };
  } catch (error) {
    const { code, message } = callFailure(error);
    if (code !== undefined && STARTING.has(code)) return { missing: message };
    throw error;
  }
}
