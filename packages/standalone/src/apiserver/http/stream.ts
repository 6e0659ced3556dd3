import { once } from "node:events";
import { pipeline } from "node:stream/promises";
import { constants, createGzip } from "node:zlib";
import type { Call } from "./call.ts";
import { acceptsGzip, GZIP_FROM_BYTES, keepUntilRead, sendBytes } from "./respond.ts";

/** What a list that is not read keeps: pieces that are read ahead, and what is on its way. */
const AHEAD_BYTES = 512 * 1024;
/** A watch whose client takes nothing for so long ends; it comes again with the revision that it has seen. */
const UNREAD_MS = 60_000;

/**
 * Sends text that comes in pieces. While it is small it is kept and sent whole, with its length; from then on it
 * streams, compressed where the client can read that. While it waits for a slow client, others have its seat.
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
  keepUntilRead(call, AHEAD_BYTES);
  const all = inSeat(call, prepend(kept, pieces));
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

/** The seat is for what makes the pieces: a piece is asked for when the client has room for it. */
async function* inSeat(
  { seat, signal }: Call,
  pieces: AsyncGenerator<string, void>,
): AsyncGenerator<string, void> {
  for await (const piece of pieces) {
    seat?.pause();
    yield piece;
    await seat?.resume();
    signal.throwIfAborted();
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
    const { request, response, signal, end } = this.#call;
    if (!this.#corked) {
      this.#corked = true;
      response.cork();
      setImmediate(() => {
        this.#corked = false;
        response.uncork();
      });
    }
    if (response.write(line) || response.destroyed) return;
    const late = setTimeout(() => {
      end(new Error("the client does not read"));
      request.socket.destroy();
    }, UNREAD_MS);
    await once(response, "drain", { signal }).finally(() => clearTimeout(late));
  }
}
