import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

export { layOut } from "../../../packages/engine/src/agent/group-snapshot/testing/ordered-blocks.ts";

export interface StallWriter {
  /** Longest time in milliseconds that a write has taken since the last call. */
  longest(): Promise<number>;
  stop(): Promise<void>;
}

/** A process of its own, so that what we do does not slow it but through the disk. */
export async function startStallWriter(program: string, files: readonly string[]): Promise<StallWriter> {
  const child = spawn(process.execPath, [program, ...files], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  await lines.next();
  return {
    longest: async () => {
      child.stdin.write("?\n");
      const { value } = await lines.next();
      return Number(value);
    },
    stop: async () => {
      child.stdin.end();
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    },
  };
}
