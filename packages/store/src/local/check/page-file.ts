import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { requireKind } from "../../runtime/file-kind.ts";
import { DamageError } from "./damage.ts";

/** Bytes of a page's header; node offsets count from its end. */
export const HEADER_BYTES = 24;

/** Bytes read at once. Neighbouring pages are often of one tree. */
const WINDOW = 64 * 1024;

/**
 * The pages of an LMDB file, read and never mapped: a mapped file that is shorter than its pages say ends the process
 * (SIGBUS) where reading gives fewer bytes.
 */
export class PageFile {
  readonly size: number;
  readonly #fd: number;
  readonly #window: Buffer = Buffer.allocUnsafe(WINDOW);
  #windowStart = 0;
  #windowBytes = 0;

  constructor(path: string) {
    requireKind({ path, kind: "file", hint: "name the file of a store, or a copy of one" });
    this.#fd = openSync(path, "r");
    this.size = fstatSync(this.#fd).size;
  }

  /** Bytes that are valid until the next call. Throws DamageError when the file is shorter. */
  read(offset: number, length: number): Buffer {
    if (offset + length > this.size) throw new DamageError(`the file ends at ${this.size} bytes, before it`);
    if (length > WINDOW) return this.#readFull(Buffer.allocUnsafe(length), offset);
    const start = offset - this.#windowStart;
    if (start < 0 || start + length > this.#windowBytes) {
      this.#windowStart = offset;
      this.#windowBytes = 0;
      const wanted = Math.min(WINDOW, this.size - offset);
      this.#readFull(this.#window.subarray(0, wanted), offset);
      this.#windowBytes = wanted;
      return this.#window.subarray(0, length);
    }
    return this.#window.subarray(start, start + length);
  }

  #readFull(target: Buffer, offset: number): Buffer {
    for (let done = 0; done < target.length; ) {
      const bytes = readSync(this.#fd, target, done, target.length - done, offset + done);
      if (bytes === 0) throw new DamageError("the file has become shorter while it was read");
      done += bytes;
    }
    return target;
  }

  close(): void {
    closeSync(this.#fd);
  }
}

/** A number of 8 bytes: page numbers and counts are far below 2^53 in every file that is whole. */
export function readWide(buffer: Buffer, offset: number): number {
  return buffer.readUInt32LE(offset) + buffer.readUInt32LE(offset + 4) * 2 ** 32;
}
