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

/** What runc prints before what is wrong. */
const PREFIX =
  /^(?:runc \w+ failed|unable to start container process|error during container init|container_linux\.go:\d+): /;

/** Kubernetes reports a program that could not be started as StartError with code 128. `log`: runc's, a JSON object a line. */
export function failedStart(log: string, at: Date): ContainerExit {
  const messages = log.split("\n").flatMap((line) => {
    const [, message] = /"level":"(?:error|fatal)","msg":("(?:[^"\\]|\\.)*")/.exec(line) ?? [];
    return message === undefined ? [] : [String(JSON.parse(message))];
  });
  let message = messages.at(-1) ?? "runc could not start the container; the end of its log may say why";
  while (PREFIX.test(message)) message = message.replace(PREFIX, "");
  return { code: 128, reason: "StartError", message, finishedAt: at.toISOString() };
}

/** What Kubernetes keeps of a termination message, and of a log in its place. */
const MESSAGE_BYTES = 4096;
const LOG_BYTES = 2048;
const LOG_LINES = 80;

/** Adds what the container itself had to say about its end. */
export async function explainExit(
  exit: ContainerExit,
  { messageFromLog }: { messageFromLog?: boolean },
  files: { message: string },
  logFile: string,
): Promise<ContainerExit> {
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
