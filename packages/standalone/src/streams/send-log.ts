import { once } from "node:events";
import type { ServerResponse } from "node:http";

/**
 * Responds with a log, as it is read. Nothing is sent before its first chunk: until then a failure can still become a
 * Status. `stop` ends it, as does a caller who leaves. While one reads slowly, `seat` is for others.
 */
export async function sendLog(
  response: ServerResponse,
  log: AsyncIterable<string | Uint8Array>,
  stop: AbortSignal,
  seat?: { pause(): void; resume(): Promise<void> },
): Promise<void> {
  const chunks = log[Symbol.asyncIterator]();
  const first = await chunks.next();
  response.writeHead(200, { "Content-Type": "text/plain" });
  response.flushHeaders();
  try {
    for (let chunk = first; !chunk.done; chunk = await chunks.next()) {
      if (response.write(chunk.value)) continue;
      seat?.pause();
      await once(response, "drain", { signal: stop });
      await seat?.resume();
    }
    response.end();
  } finally {
    await chunks.return?.();
  }
}
