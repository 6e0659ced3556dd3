import { constants, createDeflate, type Deflate } from "node:zlib";
import { DICTIONARY } from "../spdy/dictionary.ts";
import { controlFrame, Type, twoNumbers } from "../spdy/frames.ts";

/** What a client of a test writes: the frames by which it opens streams. */
export class TestOpener {
  readonly #deflate: Deflate = createDeflate({ dictionary: DICTIONARY });
  #packed: Buffer = Buffer.alloc(0);

  constructor() {
    this.#deflate.on("data", (chunk: Buffer) => {
      this.#packed = Buffer.concat([this.#packed, chunk]);
    });
  }

  /** Streams have to be opened in the order of these calls. */
  async open(id: number, headers: Record<string, string>): Promise<Buffer> {
    this.#packed = Buffer.alloc(0);
    this.#deflate.write(pairs(headers));
    await new Promise<void>((resolve) => this.#deflate.flush(constants.Z_SYNC_FLUSH, () => resolve()));
    return controlFrame(Type.synStream, Buffer.concat([twoNumbers(id, 0), Buffer.alloc(2), this.#packed]));
  }

  close(): void {
    this.#deflate.close();
  }
}

/** A block of headers before it is packed. */
export function pairs(headers: Record<string, string>): Buffer {
  const count = Buffer.alloc(4);
  count.writeUInt32BE(Object.keys(headers).length);
  return Buffer.concat([count, ...Object.entries(headers).flat().map(text)]);
}

function text(word: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(word.length);
  return Buffer.concat([length, Buffer.from(word)]);
}
