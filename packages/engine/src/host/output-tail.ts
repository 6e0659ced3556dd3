import type { Readable } from "node:stream";

/** The last bytes of a stream, however much the program prints: a tool with much output must not fill the memory. */
export class OutputTail {
  readonly #limit: number;
  #chunks: Buffer[] = [];
  #length = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    for (let first = this.#chunks[0]; first && this.#length - first.length >= this.#limit; ) {
      this.#chunks.shift();
      this.#length -= first.length;
      first = this.#chunks[0];
    }
  }

  follow(stream: Readable): void {
    stream.on("data", (chunk: Buffer) => this.push(chunk));
    // A reset pipe only means that there is no more to read.
    stream.on("error", () => {});
  }

  toString(): string {
    return Buffer.concat(this.#chunks).subarray(-this.#limit).toString("utf8");
  }
}
