/** Types of control frames (SPDY/3.1, section 2.6). */
export const Type = { synStream: 1, synReply: 2, rstStream: 3, ping: 6, goAway: 7, windowUpdate: 9 } as const;
/** Why a stream is ended (section 2.6.3). */
export const Reset = { protocolError: 1, refused: 3, cancel: 5 } as const;

const VERSION = 3;
const FIN = 1;
const HEAD = 8;
/** No client needs more for the names that a stream has. Data comes piece by piece, however long its frame. */
const MOST_CONTROL = 32 * 1024;

/** A frame of SPDY/3. `fin`: its stream has no more from this side. */
export type Frame =
  | { kind: "control"; type: number; fin: boolean; body: Buffer }
  /** A piece of a data frame; `fin` with the last of the last. */
  | { kind: "data"; stream: number; fin: boolean; bytes: Buffer };

/** Splits what comes in over a connection into frames. */
export class FrameReader {
  #rest: Buffer = Buffer.alloc(0);
  /** The data frame that is being read. */
  #data: { stream: number; fin: boolean; left: number } | undefined;

  /** Throws for what is no SPDY/3 frame. */
  *read(chunk: Buffer): Generator<Frame> {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (;;) {
      const frame = this.#data === undefined ? this.#head() : this.#piece(this.#data);
      if (frame === undefined) return;
      if (frame !== "more") yield frame;
    }
  }

  #take(bytes: number): Buffer {
    const taken = this.#rest.subarray(0, bytes);
    this.#rest = this.#rest.subarray(bytes);
    return taken;
  }

  #head(): Frame | "more" | undefined {
    if (this.#rest.length < HEAD) return undefined;
    const first = this.#rest.readUInt32BE(0);
    const [flags, length] = [this.#rest.readUInt8(4), this.#rest.readUIntBE(5, 3)];
    const fin = (flags & FIN) !== 0;
    if (first < 0x8000_0000) {
      this.#take(HEAD);
      this.#data = { stream: first, fin, left: length };
      return length === 0 ? this.#piece(this.#data) : "more";
    }
    if (((first >>> 16) & 0x7fff) !== VERSION) throw new Error("this is not SPDY/3");
    if (length > MOST_CONTROL) throw new Error(`a control frame has ${length} bytes`);
    if (this.#rest.length < HEAD + length) return undefined;
    this.#take(HEAD);
    return { kind: "control", type: first & 0xffff, fin, body: this.#take(length) };
  }

  #piece(data: { stream: number; fin: boolean; left: number }): Frame | undefined {
    if (data.left > 0 && this.#rest.length === 0) return undefined;
    const bytes = this.#take(data.left);
    data.left -= bytes.length;
    const isLast = data.left === 0;
    if (isLast) this.#data = undefined;
    return { kind: "data", stream: data.stream, fin: data.fin && isLast, bytes };
  }
}

/** The bytes on the wire of a piece of a stream. */
export function dataFrame(stream: number, bytes: Uint8Array, fin: boolean): Buffer {
  const head = Buffer.alloc(HEAD);
  head.writeUInt32BE(stream, 0);
  head.writeUInt8(fin ? FIN : 0, 4);
  head.writeUIntBE(bytes.length, 5, 3);
  return Buffer.concat([head, bytes]);
}

/** The bytes on the wire of a control frame (SYN_STREAM, RST_STREAM, PING ...) without flags. */
export function controlFrame(type: number, body: Uint8Array): Buffer {
  const head = Buffer.alloc(HEAD);
  head.writeUInt32BE(((0x8000 | VERSION) * 0x1_0000 + type) >>> 0, 0);
  head.writeUIntBE(body.length, 5, 3);
  return Buffer.concat([head, body]);
}

/** Two numbers of 32 bits. */
export function twoNumbers(first: number, second: number): Buffer {
  const body = Buffer.alloc(8);
  body.writeUInt32BE(first, 0);
  body.writeUInt32BE(second, 4);
  return body;
}
