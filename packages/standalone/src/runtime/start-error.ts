import { open } from "node:fs/promises";
import type { ContainerExit } from "./runtime.ts";

/** The last bytes of a file that may be very long. */
export async function readEnd(path: string, bytes: number): Promise<string> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    const from = Math.max(0, size - bytes);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(bytes, size)), 0, undefined, from);
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Exit codes that our own launcher uses when the program cannot be started; a program may use them too. */
const LAUNCHER_CODES = new Set([1, 126, 127]);
const LAUNCHER_LINE = /^(?:bwrap|setpriv|mooring-container): .*$/;

/**
 * Tells "the program could not be started" from "the program failed": the launcher then has the last word in the log.
 * Kubernetes reports it as StartError with code 128.
 */
export async function explainExit(exit: ContainerExit, logFile: string): Promise<ContainerExit> {
  if (!LAUNCHER_CODES.has(exit.code)) return exit;
  const text = await readEnd(logFile, 4096).catch(() => "");
  const line = text.trimEnd().split("\n").at(-1) ?? "";
  if (!LAUNCHER_LINE.test(line)) return exit;
  return { ...exit, code: 128, reason: "StartError", message: line };
}
