import { type FileHandle, open } from "node:fs/promises";

const SLOT_BYTES = 4096;

/** Writes one slot of a device after the other, each on disk before it counts: `<node> <number>`. */
export class BlockWriter {
  readonly node: string;
  /** The slots that were acknowledged, from `from` on. */
  acknowledged = 0;
  /** What stopped it, if it did not stop by itself. */
  failure: unknown;
  readonly #from: number;
  readonly #file: FileHandle;
  readonly #running: Promise<void>;
  #stopping = false;

  private constructor(node: string, file: FileHandle, from: number) {
    this.node = node;
    this.#file = file;
    this.#from = from;
    this.#running = this.#run().catch((error: unknown) => {
      this.failure = error;
    });
  }

  static async start(node: string, device: string, from = 0): Promise<BlockWriter> {
    return new BlockWriter(node, await open(device, "rs+"), from);
  }

  /** With a device that was opened before: what a virtual machine does that waits to take over. */
  static on(node: string, file: FileHandle, from: number): BlockWriter {
    return new BlockWriter(node, file, from);
  }

  /** The first slot that it has not written. */
  get end(): number {
    return this.#from + this.acknowledged;
  }

  /** Resolves when so many more slots are on disk; throws what stopped it before. */
  async progress(more: number): Promise<void> {
    const goal = this.acknowledged + more;
    while (this.acknowledged < goal) {
      if (this.failure !== undefined) throw this.failure;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  /** Resolves when it has stopped by itself. */
  async ended(): Promise<void> {
    await this.#running;
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#running;
    await this.#file.close();
  }

  async #run(): Promise<void> {
    const slot = Buffer.alloc(SLOT_BYTES);
    while (!this.#stopping) {
      slot.fill(0);
      slot.write(`${this.node} ${this.acknowledged + 1}\n`);
      const { bytesWritten } = await this.#file.write(slot, 0, SLOT_BYTES, this.end * SLOT_BYTES);
      if (bytesWritten !== SLOT_BYTES) throw new Error(`only ${bytesWritten} bytes were written`);
      this.acknowledged += 1;
    }
  }
}

/** Whose slots are on the device, one after the other, and how many of each; throws at a hole or a mixture. */
export async function readStints(device: string): Promise<[node: string, slots: number][]> {
  const file = await open(device, "r");
  try {
    const stints: [string, number][] = [];
    const slot = Buffer.alloc(SLOT_BYTES);
    for (let at = 0; ; at += SLOT_BYTES) {
      const { bytesRead } = await file.read(slot, 0, SLOT_BYTES, at);
      const line = slot.subarray(0, slot.indexOf(0)).toString().trim();
      if (bytesRead < SLOT_BYTES || line === "") return stints;
      const [node = "", number = ""] = line.split(" ");
      const last = stints.at(-1);
      if (last?.[0] === node && Number(number) === last[1] + 1) last[1] += 1;
      else if (number === "1") stints.push([node, 1]);
      else throw new Error(`two writers, or a hole: "${line}" after ${JSON.stringify(last)}`);
    }
  } finally {
    await file.close();
  }
}
