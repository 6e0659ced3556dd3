import { execFile } from "node:child_process";
import { promisify } from "node:util";

const execute = promisify(execFile);

/** Runs a program by argv; throws with its stderr. */
export async function command(file: string, ...args: string[]): Promise<string> {
  const { stdout } = await execute(file, args, { maxBuffer: 16 << 20 });
  return stdout;
}

/** The same, when it does not matter whether there was anything to do. */
export async function tried(file: string, ...args: string[]): Promise<void> {
  await command(file, ...args).catch(() => {});
}
