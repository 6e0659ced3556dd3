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

/** What Kubernetes keeps of a termination message, and of a log in its place. */
const MESSAGE_BYTES = 4096;
const LOG_BYTES = 2048;
const LOG_LINES = 80;

/**
 * Tells "the program could not be started" from "the program failed": the launcher then has the last word in the log.
 * Kubernetes reports it as StartError with code 128. Else adds what the container itself had to say.
 */
export async function explainExit(
  exit: ContainerExit,
  { messageFromLog }: { messageFromLog?: boolean },
  files: { message: string },
  logFile: string,
): Promise<ContainerExit> {
  if (LAUNCHER_CODES.has(exit.code)) {
    const text = await readEnd(logFile, MESSAGE_BYTES).catch(() => "");
    const line = text.trimEnd().split("\n").at(-1) ?? "";
    if (LAUNCHER_LINE.test(line)) return { ...exit, code: 128, reason: "StartError", message: line };
  }
  if (exit.message !== undefined) return exit;
  const own = await readEnd(files.message, MESSAGE_BYTES).catch(() => "");
  if (own !== "") return { ...exit, message: own };
  if (messageFromLog !== true || exit.code === 0) return exit;
  const tail = (await readEnd(logFile, LOG_BYTES).catch(() => ""))
    .split("\n")
    .slice(-LOG_LINES - 1)
    .join("\n");
  return tail === "" ? exit : { ...exit, message: tail };
}
