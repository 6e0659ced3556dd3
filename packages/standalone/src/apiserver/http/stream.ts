import { once } from "node:events";
import { pipeline } from "node:stream/promises";
import { constants, createGzip } from "node:zlib";
import type { Call } from "./call.ts";
import { acceptsGzip, GZIP_FROM_BYTES, sendBytes } from "./respond.ts";

/**
 * Sends text that comes in pieces. While it is small it is kept and sent whole, with its length; from then on it
 * streams, compressed where the client can read that. Waits for slow clients.
 */
export async function sendPieces(
  call: Call,
  type: string,
  pieces: AsyncGenerator<string, void>,
): Promise<void> {
  let kept = "";
  for (;;) {
    const piece = await pieces.next();
    if (piece.done) return sendBytes(call, 200, Buffer.from(kept), type);
    kept += piece.value;
    if (kept.length >= GZIP_FROM_BYTES) break;
  }
  const { response } = call;
  response.statusCode = 200;
  response.setHeader("Content-Type", type);
  response.setHeader("Vary", "Accept, Accept-Encoding");
  const all = prepend(kept, pieces);
  if (!acceptsGzip(call)) return pipeline(all, response, { signal: call.signal });
  response.setHeader("Content-Encoding", "gzip");
  return pipeline(all, createGzip({ level: constants.Z_BEST_SPEED }), response, { signal: call.signal });
}

async function* prepend(first: string, rest: AsyncGenerator<string, void>): AsyncGenerator<string, void> {
  try {
    yield first;
    yield* rest;
  } finally {
    // A client that leaves while the first is being sent ends this before the rest: that one has something open.
    await rest.return();
  }
}

/** Writes lines to an endless response; what is written in one turn of the event loop leaves in one packet. */
export class LineWriter {
  readonly #call: Call;
  #corked = false;

  constructor(call: Call) {
    this.#call = call;
  }

  /** Resolves when the client has room for more. */
  async write(line: string): Promise<void> {
    const { response, signal } = this.#call;
    if (!this.#corked) {
      this.#corked = true;
      response.cork();
      setImmediate(() => {
        this.#corked = false;
        response.uncork();
      });
    }
    if (response.write(line) || response.destroyed) return;
    await once(response, "drain", { signal });
  }
}
