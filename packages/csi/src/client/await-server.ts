import { connect } from "node:net";
import { CsiError } from "../errors/csi-error.ts";
import { socketPath } from "../sockets/endpoint.ts";

/** What an HTTP/2 client sends first: the preface, and its settings, of which there are none. */
const PREFACE = Buffer.concat([
  Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]),
]);

/**
 * Resolves when a server responds at `endpoint` (`unix:///path`), by a connection of its own that is gone afterwards.
 * A gRPC channel keeps its connection to a process that accepts it and sends nothing, even when the channel is closed. So callers of
 * processes that are not ours call this first, each time. Throws UNAVAILABLE, or DEADLINE_EXCEEDED after `timeoutMs`.
 */
export function awaitServer(
  endpoint: string,
  { timeoutMs, signal }: { timeoutMs: number; signal?: AbortSignal },
): Promise<void> {
  const path = socketPath(endpoint);
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    const end = (error?: CsiError): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
      socket.destroy();
      if (error === undefined) resolve();
      else reject(error);
    };
    const stop = (): void => end(CsiError.cancelled(`stopped waiting for ${path}`));
    const timer = setTimeout(
      () => end(CsiError.deadlineExceeded(`the process at ${path} did not respond within ${timeoutMs} ms`)),
      timeoutMs,
    );
    signal?.addEventListener("abort", stop, { once: true });
    socket.once("connect", () => socket.write(PREFACE));
    socket.once("data", () => end());
    socket.once("error", ({ message }) => end(CsiError.unavailable(`no process listens there: ${message}`)));
    socket.once("close", () => end(CsiError.unavailable(`the process at ${path} ended the connection`)));
    if (signal?.aborted === true) stop();
  });
}
