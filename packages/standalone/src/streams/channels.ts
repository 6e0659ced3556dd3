import type { WebSocket } from "ws";
import { type Client, type Connect, type Listener, type Outcome, readSize } from "./client.ts";

/**
 * Kubernetes' channels on one WebSocket: the first byte of each message is its number. `v5` is `v4` with a message that ends
 * one channel, so that a program learns of the end of its input.
 */
export const CHANNEL_PROTOCOLS = ["v5.channel.k8s.io", "v4.channel.k8s.io"] as const;

/** The first byte of each message: which stream the rest belongs to (`remotecommand.k8s.io`). */
export const Channel = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const;
const CLOSE = 255;

/** How often a client of which nothing is read is asked whether it is still there. */
const ASK_MS = 2_000;

/** A client whose streams are channels of this WebSocket. */
export function overWebSocket(ws: WebSocket): Connect {
  return async (listener) => {
    const client = new Channels(ws, listener);
    // Shows that the connection is there: a client may wait for it before it sends anything.
    await client.send("stdout", Buffer.alloc(0)).catch(() => {});
    return client;
  };
}

class Channels implements Client {
  readonly #ws: WebSocket;
  #asking: NodeJS.Timeout | undefined;
  readonly left: AbortSignal;

  constructor(ws: WebSocket, listener: Listener) {
    this.#ws = ws;
    const left = new AbortController();
    this.left = left.signal;
    ws.once("close", () => {
      clearInterval(this.#asking);
      left.abort(new Error("the client has left"));
    });
    ws.on("message", (data) => receive(data as Buffer, listener));
  }

  send(output: "stdout" | "stderr", bytes: Uint8Array): Promise<void> {
    return this.#send(Channel[output], bytes);
  }

  sendOutcome(outcome: Outcome): Promise<void> {
    return this.#send(Channel.error, Buffer.from(JSON.stringify(outcome)));
  }

  /** The client's leaving shows in what is written to it. */
  pause(): void {
    this.#ws.pause();
    this.#asking ??= setInterval(() => this.#ws.ping(), ASK_MS).unref();
  }
  resume(): void {
    clearInterval(this.#asking);
    this.#asking = undefined;
    this.#ws.resume();
  }

  close(): void {
    this.#ws.close(1000);
    // A client that responds to the close frame ends the connection itself; one that does not is not waited for.
    setTimeout(() => this.#ws.terminate(), 5_000).unref();
  }

  #send(channel: number, bytes: Uint8Array): Promise<void> {
    const message = Buffer.concat([Buffer.of(channel), bytes]);
    return new Promise((resolve, reject) => {
      this.#ws.send(message, { binary: true }, (error) => (error ? reject(error) : resolve()));
    });
  }
}

function receive(data: Buffer, listener: Listener): void {
  const [channel] = data;
  if (channel === Channel.stdin) listener.stdin(data.subarray(1));
  else if (channel === CLOSE && data[1] === Channel.stdin) listener.stdinEnd();
  else if (channel === Channel.resize) {
    const size = readSize(data.toString("utf8", 1));
    if (size !== undefined) listener.resize(size);
  }
}
