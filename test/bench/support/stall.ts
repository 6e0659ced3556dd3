import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

export { layOut } from "../../../packages/engine/src/node/group-snapshot/testing/ordered-blocks.ts";

/** A stretch of time, in milliseconds since 1970. */
export interface Span {
  start: number;
  end: number;
}

export interface StallWriter {
  /** Every write since the last call, also the one under way. */
  writes(): Promise<Span[]>;
  stop(): Promise<void>;
}

/** A process of its own, so that what we do does not slow it but through the disk. */
export async function startStallWriter(program: string, files: readonly string[]): Promise<StallWriter> {
  const child = spawn(process.execPath, [program, ...files], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  await lines.next();
  return {
    writes: async () => {
      child.stdin.write("?\n");
      const stalls: [number, number][] = JSON.parse((await lines.next()).value);
      return stalls.map(([start, took]) => ({ start, end: start + took }));
    },
    stop: async () => {
      child.stdin.end();
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    },
  };
}

/** The longest of the writes that were under way at any time of a span, in milliseconds. */
export function longestIn(writes: readonly Span[], { start, end }: Span): number {
  const during = writes.filter((write) => write.start < end && write.end > start);
  return Math.max(0, ...during.map((write) => write.end - write.start));
}
