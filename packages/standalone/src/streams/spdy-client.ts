import type { Duplex } from "node:stream";
import {
  type Client,
  type Connect,
  type Listener,
  type Outcome,
  readSize,
  type WantedStreams,
} from "./client.ts";
import { type SpdyStream, serveSpdy } from "./spdy/connection.ts";

/** Versions of Kubernetes' streams by SPDY: `v4` has outcomes as JSON, where those before have text; `v2` has no sizes of terminals. */
export const SPDY_PROTOCOLS = ["v4.channel.k8s.io", "v3.channel.k8s.io", "v2.channel.k8s.io"] as const;
export type SpdyProtocol = (typeof SPDY_PROTOCOLS)[number];

/** A client opens its streams one by one; as long as Kubernetes waits for all of them. */
const OPEN_MS = 30_000;
/** One that has its outcome ends the connection itself. One that is slow has so long for what is on its way. */
const LINGER_MS = 30_000;
/** No terminal's size has more characters. */
const MOST_SIZE = 1024;

type StreamType = "error" | "stdin" | "stdout" | "stderr" | "resize";
type Streams = ReadonlyMap<string, SpdyStream>;

/** When this module gives up; tests have less patience. */
export interface Patience {
  openMs?: number;
}

/** A client that opens a stream of its own for each input and output. */
export function overSpdy(
  connection: Duplex,
  protocol: SpdyProtocol,
  wanted: WantedStreams,
  { openMs = OPEN_MS }: Patience = {},
): Connect {
  return async (listener, stop) => {
    const left = new AbortController();
    const end = () => connection.destroy();
    const late = setTimeout(end, openMs);
    stop.addEventListener("abort", end, { once: true });
    if (stop.aborted) end();
    const streams = await openStreams(connection, typesOf(protocol, wanted), () => left.abort());
    clearTimeout(late);
    stop.removeEventListener("abort", end);
    if (streams === undefined) return undefined;
    return new SpdyClient({ connection, streams, left: left.signal, protocol }, listener);
  };
}

function typesOf(protocol: SpdyProtocol, { stdin, stdout, stderr, tty }: WantedStreams): Set<string> {
  const types: Record<StreamType, boolean> = {
    ...{ error: true, stdin, stdout },
    // A terminal has one output.
    stderr: stderr && !tty,
    resize: tty && protocol !== "v2.channel.k8s.io",
  };
  return new Set(Object.entries(types).flatMap(([type, is]) => (is ? [type] : [])));
}

/** Resolves when the client has opened each once, and refuses all others; undefined when the connection has ended before. */
function openStreams(
  connection: Duplex,
  types: ReadonlySet<string>,
  ended: () => void,
): Promise<Streams | undefined> {
  const streams = new Map<string, SpdyStream>();
  return new Promise((resolve) => {
    const done = serveSpdy(connection, (stream) => {
      const type = stream.headers.get("streamtype") ?? "";
      if (!types.has(type) || streams.has(type)) return void stream.destroy();
      streams.set(type, stream);
      // The client sends nothing on the others, but their end.
      if (type !== "stdin" && type !== "resize") stream.resume();
      if (streams.size === types.size) resolve(streams);
    });
    void done.then(() => {
      ended();
      resolve(undefined);
    });
  });
}

interface Opened {
  connection: Duplex;
  streams: Streams;
  left: AbortSignal;
  protocol: SpdyProtocol;
}

class SpdyClient implements Client {
  readonly #connection: Duplex;
  readonly #streams: Streams;
  readonly #hasJson: boolean;
  readonly left: AbortSignal;

  constructor({ connection, streams, left, protocol }: Opened, listener: Listener) {
    this.#connection = connection;
    this.#streams = streams;
    this.#hasJson = protocol === "v4.channel.k8s.io";
    this.left = left;
    // One that is reset ends the input as well.
    const stdin = streams.get("stdin");
    const stdinEnd = () => listener.stdinEnd();
    stdin
      ?.on("data", (bytes: Buffer) => listener.stdin(bytes))
      .once("end", stdinEnd)
      .once("close", stdinEnd);
    const resize = streams.get("resize");
    if (resize !== undefined) readSizes(resize, listener);
  }

  send(output: "stdout" | "stderr", bytes: Uint8Array): Promise<void> {
    return this.#write(output, bytes);
  }

  async sendOutcome(outcome: Outcome): Promise<void> {
    const text = outcome.status === "Success" ? "" : (outcome.message ?? outcome.status);
    const sent = this.#hasJson ? JSON.stringify(outcome) : text;
    if (sent !== "") await this.#write("error", Buffer.from(sent));
  }

  pause(): void {
    this.#streams.get("stdin")?.pause();
  }
  resume(): void {
    this.#streams.get("stdin")?.resume();
  }

  close(): void {
    // What the kernel has of the client and nobody has read would take what is on the way to it along.
    for (const stream of this.#streams.values()) stream.resume().end();
    setTimeout(() => this.#connection.destroy(), LINGER_MS).unref();
  }

  /** A stream that the client has reset takes everything, and keeps nothing. */
  #write(type: StreamType, bytes: Uint8Array): Promise<void> {
    const stream = this.#streams.get(type);
    return new Promise((resolve, reject) => {
      if (this.left.aborted) return reject(new Error("the client has left"));
      if (stream === undefined || stream.destroyed || bytes.length === 0) return resolve();
      stream.write(bytes, () => resolve());
    });
  }
}

/** Sizes come as JSON, one behind the other. */
function readSizes(stream: SpdyStream, listener: Listener): void {
  let rest = "";
  stream.on("data", (bytes: Buffer) => {
    const parts = (rest + bytes.toString("latin1")).split("}");
    rest = parts.pop() ?? "";
    for (const part of parts) {
      const size = readSize(`${part}}`);
      if (size !== undefined) listener.resize(size);
    }
    if (rest.length > MOST_SIZE) stream.removeAllListeners("data").resume();
  });
}
