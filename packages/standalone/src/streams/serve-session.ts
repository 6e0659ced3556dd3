import type { Readable, Writable } from "node:stream";
import type { WebSocket } from "ws";
import type { ExecSession } from "../runtime/index.ts";
import { Channel, Channels } from "./channels.ts";
import { failureOf, outcomeOf } from "./outcome.ts";

/** A background program may keep the pipes open: no client gets what it writes later than this after the end. */
const LAST_OUTPUT_MS = 1_000;
/** Nothing more is read of a client that has sent so much before its program has begun. */
const EARLY_BYTES = 64 * 1024;

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
  ws: WebSocket,
  { open, stderr, stdout, stop }: ServedSession,
): Promise<void> {
  let session: ExecSession | undefined;
  const early: Buffer[] = [];
  let earlyBytes = 0;
  let size: { columns: number; rows: number } | undefined;
  let isOver = false;
  const channels: Channels = new Channels(ws, {
    stdin: (bytes) => {
      if (session !== undefined) return feed(session.stdin, bytes, channels);
      early.push(bytes);
      earlyBytes += bytes.length;
      if (earlyBytes > EARLY_BYTES) channels.pause();
    },
    stdinEnd: () => {
      isOver = true;
      session?.stdin?.end();
    },
    resize: (next) => {
      size = next;
      session?.resize(next);
    },
  });
  const end = () => void session?.kill();
  const ends = [channels.left, stop];
  for (const signal of ends) signal.addEventListener("abort", end, { once: true });
  try {
    // Shows that the connection is there: a client may wait for it before it sends anything.
    await channels.send(Channel.stdout, Buffer.alloc(0));
    session = await open();
    const began = session;
    if (ends.some(({ aborted }) => aborted)) await began.kill();
    if (size !== undefined) began.resize(size);
    channels.resume();
    for (const bytes of early.splice(0)) feed(began.stdin, bytes, channels);
    if (isOver) began.stdin?.end();
    const outputs = [
      copy(began.stdout, stdout ? Channel.stdout : undefined, channels),
      ...(began.stderr === undefined
        ? []
        : [copy(began.stderr, stderr ? Channel.stderr : undefined, channels)]),
    ];
    const code = await began.exit;
    for (const output of outputs) await output.drained(LAST_OUTPUT_MS);
    await sendStatus(channels, outcomeOf(code));
  } catch (error) {
    if (!channels.left.aborted) await sendStatus(channels, failureOf(error)).catch(() => {});
  } finally {
    for (const signal of ends) signal.removeEventListener("abort", end);
    channels.close();
    await session?.kill();
  }
}

function sendStatus(channels: Channels, status: object): Promise<void> {
  return channels.send(Channel.error, Buffer.from(JSON.stringify(status)));
}

function feed(stdin: Writable | undefined, bytes: Buffer, channels: Channels): void {
  if (stdin === undefined || stdin.destroyed || stdin.write(bytes)) return;
  channels.pause();
  const goOn = () => channels.resume();
  stdin.once("drain", goOn).once("close", goOn);
}

/** Sends what comes, each piece when the one before it has gone; without a channel it is read and thrown away. */
function copy(from: Readable, channel: number | undefined, channels: Channels) {
  let sending = false;
  let last = performance.now();
  const ended = (async () => {
    for await (const chunk of from) {
      sending = true;
      if (channel !== undefined) await channels.send(channel, chunk as Buffer);
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
        if (quiet || channels.left.aborted) break;
        await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 50))]);
      }
      from.destroy();
    },
  };
}
