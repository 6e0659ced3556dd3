import { once } from "node:events";
import type { ServerResponse } from "node:http";

/**
 * Answers with a log, as it is read. Nothing is sent before its first chunk: until then a failure can still become a
 * Status. `stop` ends it, as does a caller who leaves.
 */
export async function sendLog(
  response: ServerResponse,
  log: AsyncIterable<string | Uint8Array>,
  stop: AbortSignal,
): Promise<void> {
  const chunks = log[Symbol.asyncIterator]();
  const first = await chunks.next();
  response.writeHead(200, { "Content-Type": "text/plain" });
  response.flushHeaders();
  try {
    for (let chunk = first; !chunk.done; chunk = await chunks.next()) {
      if (!response.write(chunk.value)) await once(response, "drain", { signal: stop });
    }
    response.end();
  } finally {
    await chunks.return?.();
  }
}
