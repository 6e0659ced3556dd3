import type { Readable } from "node:stream";
import type { ExecSession } from "../runtime/index.ts";
import type { Client, Connect } from "./client.ts";
import { failureOf, outcomeOf } from "./outcome.ts";
import { ProgramInput } from "./program-input.ts";

/** A background program may keep the pipes open: no client gets what it writes later than this after the end. */
const LAST_OUTPUT_MS = 1_000;

interface ServedSession {
  open(): Promise<ExecSession>;
  /** Which of its outputs the client wants. */
  stdout: boolean;
  stderr: boolean;
  /** Ends all of it. */
  stop: AbortSignal;
}

/**
 * Joins a program and a client until one of them ends. A client that leaves takes the program with it; a program that
 * ends has all that it wrote sent, and its outcome after that. Resolves when nothing of either is left.
 */
export async function serveSession(
  connect: Connect,
  { open, stderr, stdout, stop }: ServedSession,
): Promise<void> {
  const input = new ProgramInput();
  const client = await connect(input, stop);
  if (client === undefined) return;
  input.from(client);
  let session: ExecSession | undefined;
  const end = () => void session?.kill();
  const ends = [client.left, stop];
  for (const signal of ends) signal.addEventListener("abort", end, { once: true });
  try {
    session = await open();
    const began = session;
    if (ends.some(({ aborted }) => aborted)) await began.kill();
    input.to(began);
    const outputs = [
      copy(began.stdout, stdout ? "stdout" : undefined, client),
      ...(began.stderr === undefined ? [] : [copy(began.stderr, stderr ? "stderr" : undefined, client)]),
    ];
    const code = await began.exit;
    for (const output of outputs) await output.drained(LAST_OUTPUT_MS);
    await client.sendOutcome(outcomeOf(code));
  } catch (error) {
    if (!client.left.aborted) await client.sendOutcome(failureOf(error)).catch(() => {});
  } finally {
    for (const signal of ends) signal.removeEventListener("abort", end);
    client.close();
    await session?.kill();
  }
}

/** Sends what comes, each piece when the one before it has gone; of an output that nobody wants it is read and thrown away. */
function copy(from: Readable, output: "stdout" | "stderr" | undefined, client: Client) {
  let sending = false;
  let last = performance.now();
  const ended = (async () => {
    for await (const chunk of from) {
      sending = true;
      if (output !== undefined) await client.send(output, chunk as Buffer);
      sending = false;
      last = performance.now();
    }
  })().catch(() => {});
  return {
    /** Resolves when all is sent: at the end, or once nothing has come for so long. */
    async drained(quietMs: number): Promise<void> {
      let isDone = false;
      void ended.then(() => {
        isDone = true;
      });
      last = Math.max(last, performance.now());
      while (!isDone) {
        const quiet = !sending && from.readableLength === 0 && performance.now() - last > quietMs;
        if (quiet || client.left.aborted) break;
        await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 50))]);
      }
      from.destroy();
    },
  };
}
