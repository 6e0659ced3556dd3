import { Duplex } from "node:stream";
import { controlFrame, dataFrame, type Frame, FrameReader, Reset, Type, twoNumbers } from "./frames.ts";
import { HeaderReader, type Headers, HeaderWriter } from "./headers.ts";
import { Outlet } from "./outlet.ts";

/** One stream that the client has opened. Its other side is closed by `end()`, and all of it by `destroy()`. */
export interface SpdyStream extends Duplex {
  readonly headers: Headers;
}

const PIECE = 32 * 1024;
/** Open at the same time. */
const MOST_STREAMS = 512;
/** A client that has left while a stream of its is not read is noticed by what is written to it. */
const PING_MS = 5_000;

/**
 * The server's side of SPDY/3.1, as far as Kubernetes' clients use it: streams that the client opens, data both ways, pings.
 * They do no flow control, so a stream that we do not read blocks the connection, and with that the client; one that does is granted
 * what was read, and is sent data without a grant of its own, as fast as it reads. Resolves when the connection has ended, with all
 * of its streams.
 */
export async function serveSpdy(connection: Duplex, opened: (stream: SpdyStream) => void): Promise<void> {
  const session = new Session(connection, opened);
  const frames = new FrameReader();
  const pinging = setInterval(() => session.ping(), PING_MS).unref();
  // Nobody may ever read the stream that the loop waits for.
  connection.once("close", () => session.reset());
  try {
    for await (const chunk of connection)
      for (const frame of frames.read(chunk as Buffer)) await session.receive(frame);
  } catch {
    // What a client breaks of the protocol, or its going, ends the connection.
  } finally {
    clearInterval(pinging);
    session.end();
    connection.destroy();
  }
}

class Session {
  readonly #outlet: Outlet;
  readonly #opened: (stream: SpdyStream) => void;
  readonly #streams = new Map<number, Stream>();
  readonly #reader = new HeaderReader();
  readonly #writer = new HeaderWriter();
  #last = 0;
  #pings = 0;

  constructor(connection: Duplex, opened: (stream: SpdyStream) => void) {
    this.#outlet = new Outlet(connection);
    this.#opened = opened;
  }

  async receive(frame: Frame): Promise<void> {
    if (frame.kind === "data") return this.#data(frame.stream, frame.bytes, frame.fin);
    const { type, body } = frame;
    if (type === Type.synStream) await this.#open(body, frame.fin);
    else if (type === Type.rstStream && body.length >= 4) this.#streams.get(idOf(body))?.reset();
    // A client's are odd; even ones would be replies to ours.
    else if (type === Type.ping && body.length >= 4 && body.readUInt32BE(0) % 2 === 1)
      await this.send(controlFrame(Type.ping, body.subarray(0, 4)));
  }

  /** With a number of ours; the client sends it back. */
  ping(): void {
    // One that reads nothing has enough to read.
    if (this.#outlet.isFull) return;
    this.#pings += 2;
    const number = Buffer.alloc(4);
    number.writeUInt32BE(this.#pings);
    void this.send(controlFrame(Type.ping, number));
  }

  /** Ends its streams. */
  reset(): void {
    for (const stream of this.#streams.values()) stream.reset();
  }

  end(): void {
    this.reset();
    this.#reader.close();
    this.#writer.close();
  }

  /** Resolves when it is with the kernel. */
  send(frame: Buffer): Promise<void> {
    return this.#outlet.send(frame);
  }

  forget(id: number): void {
    this.#streams.delete(id);
    this.#outlet.forget(id);
  }

  async #open(body: Buffer, fin: boolean): Promise<void> {
    if (body.length < 10) throw new Error("a stream is opened without a number");
    const id = idOf(body);
    // Read in any case: the next block is compressed with what is in this one.
    const headers = await this.#reader.read(body.subarray(10));
    if (id % 2 === 0 || id <= this.#last) throw new Error("a stream has a number that is not its own");
    this.#last = id;
    if (this.#streams.size >= MOST_STREAMS) {
      await this.send(controlFrame(Type.rstStream, twoNumbers(id, Reset.refused)));
      return;
    }
    const stream = new Stream(this, id, headers);
    this.#streams.set(id, stream);
    const number = Buffer.alloc(4);
    number.writeUInt32BE(id);
    await this.send(controlFrame(Type.synReply, Buffer.concat([number, await this.#writer.none()])));
    this.#opened(stream);
    if (fin) await stream.receive(Buffer.alloc(0), true);
  }

  async #data(id: number, bytes: Buffer, fin: boolean): Promise<void> {
    // Of a stream that has ended here, data may still be on the way.
    await this.#streams.get(id)?.receive(bytes, fin);
    if (bytes.length > 0) this.#outlet.grant(this.#streams.has(id) && !fin ? id : 0, bytes.length);
  }
}

function idOf(body: Buffer): number {
  return body.readUInt32BE(0) & 0x7fff_ffff;
}

class Stream extends Duplex implements SpdyStream {
  readonly headers: Headers;
  readonly #session: Session;
  readonly #id: number;
  #wanted = () => {};
  /** The client has ended it, or both sides have ended it. */
  #isOver = false;
  #sentEnd = false;
  #gotEnd = false;

  constructor(session: Session, id: number, headers: Headers) {
    super({ allowHalfOpen: true });
    this.#session = session;
    this.#id = id;
    this.headers = headers;
    this.on("error", () => {});
  }

  /** Resolves when its reader wants more. */
  async receive(bytes: Buffer, fin: boolean): Promise<void> {
    if (this.destroyed || this.#gotEnd) return;
    const full = bytes.length > 0 && !this.push(bytes);
    if (fin) {
      this.#gotEnd = true;
      this.push(null);
      this.#endIfDone();
    } else if (full && !this.destroyed) {
      await new Promise<void>((resolve) => {
        this.#wanted = resolve;
      });
    }
  }

  reset(): void {
    this.#isOver = true;
    this.destroy();
  }

  override _read(): void {
    this.#wanted();
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    void this.#writeAll(chunk).then(() => done(), done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#sentEnd = true;
    void this.#session.send(dataFrame(this.#id, Buffer.alloc(0), true)).then(() => {
      this.#endIfDone();
      done();
    }, done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#session.forget(this.#id);
    if (!this.#isOver)
      void this.#session.send(controlFrame(Type.rstStream, twoNumbers(this.#id, Reset.cancel)));
    this.#wanted();
    done(error);
  }

  #endIfDone(): void {
    if (!this.#sentEnd || !this.#gotEnd) return;
    this.#isOver = true;
    this.#session.forget(this.#id);
  }

  async #writeAll(bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length; at += PIECE)
      await this.#session.send(dataFrame(this.#id, bytes.subarray(at, at + PIECE), false));
  }
}
