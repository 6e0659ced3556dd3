import { constants, createDeflate, createInflate, type Deflate, type Inflate } from "node:zlib";
import { DICTIONARY } from "./dictionary.ts";

/** Names in small letters, each with its value. */
export type Headers = ReadonlyMap<string, string>;

/** Of one block, unpacked. A few bytes of it can stand for megabytes. */
const MOST_BYTES = 64 * 1024;

/** Headers of one connection: each block is compressed with what all before it have left behind. */
export class HeaderReader {
  readonly #inflate: Inflate = createInflate({ dictionary: DICTIONARY, chunkSize: 4096 });
  #chunks: Buffer[] = [];
  #length = 0;

  constructor() {
    // Thrown to the reader of the block that it is in.
    this.#inflate.on("error", () => {});
    this.#inflate.on("data", (chunk: Buffer) => {
      this.#length += chunk.length;
      if (this.#length > MOST_BYTES) this.#inflate.destroy(new Error("headers are too long"));
      else this.#chunks.push(chunk);
    });
  }

  /** Blocks are read in the order in which they come; throws for what is none. */
  async read(block: Uint8Array): Promise<Headers> {
    this.#chunks = [];
    this.#length = 0;
    await new Promise<void>((resolve, reject) => {
      const failed = (error?: Error) => reject(error ?? new Error("headers cannot be unpacked"));
      this.#inflate.once("error", failed).once("close", failed);
      this.#inflate.write(block, (error) => {
        this.#inflate.off("error", failed).off("close", failed);
        if (error) reject(error);
        else resolve();
      });
    });
    return parse(Buffer.concat(this.#chunks));
  }

  close(): void {
    this.#inflate.destroy();
  }
}

function parse(bytes: Buffer): Headers {
  let at = 0;
  const number = (): number => {
    if (at + 4 > bytes.length) throw new Error("headers end too early");
    at += 4;
    return bytes.readUInt32BE(at - 4);
  };
  const text = (): string => {
    const length = number();
    if (at + length > bytes.length) throw new Error("headers end too early");
    at += length;
    return bytes.toString("latin1", at - length, at);
  };
  const headers = new Map<string, string>();
  for (let left = number(); left > 0; left--) {
    const name = text().toLowerCase();
    headers.set(name, text());
  }
  return headers;
}

/** A block without a header; each is as long as the state of the compression has it. */
export class HeaderWriter {
  readonly #deflate: Deflate = createDeflate({ dictionary: DICTIONARY, chunkSize: 4096 });
  #chunks: Buffer[] = [];

  constructor() {
    this.#deflate.on("error", () => {});
    this.#deflate.on("data", (chunk: Buffer) => this.#chunks.push(chunk));
  }

  async none(): Promise<Buffer> {
    this.#deflate.write(Buffer.alloc(4));
    await new Promise<void>((resolve) => this.#deflate.flush(constants.Z_SYNC_FLUSH, () => resolve()));
    const block = Buffer.concat(this.#chunks);
    this.#chunks = [];
    return block;
  }

  close(): void {
    this.#deflate.destroy();
  }
}
