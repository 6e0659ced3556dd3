import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { PassThrough, Readable } from "node:stream";
import { type TestContext, test } from "node:test";
import { eventually } from "@mooring/store/testing";
import type { ExecSession } from "../runtime/index.ts";
import type { TerminalSize } from "./client.ts";
import { serveSession } from "./serve-session.ts";
import { controlFrame, dataFrame, type Frame, FrameReader, Reset, Type, twoNumbers } from "./spdy/frames.ts";
import { overSpdy, type SpdyProtocol } from "./spdy-client.ts";
import { TestOpener } from "./testing/spdy-opener.ts";

const WITHOUT_TTY = { stdin: true, stdout: true, stderr: true, tty: false };

interface Program extends ExecSession {
  stdin: PassThrough;
  stderr: PassThrough;
  sizes: TerminalSize[];
  end(code: number): void;
}

function program(stdout: Readable): Program {
  let end: (code: number) => void = () => {};
  const exit = new Promise<number>((resolve) => {
    end = resolve;
  });
  const sizes: TerminalSize[] = [];
  return {
    ...{ stdin: new PassThrough(), stdout, stderr: new PassThrough(), sizes, exit, end },
    resize: (size) => void sizes.push(size),
    kill: async () => end(137),
  };
}

interface Served {
  socket: Socket;
  /** The server's side of it. */
  connection: Socket;
  opener: TestOpener;
  session: Program;
  begun(): boolean;
  /** Of the server, whole. */
  frames: Frame[];
  done: Promise<void>;
}

async function serve(
  t: TestContext,
  {
    protocol = "v4.channel.k8s.io" as SpdyProtocol,
    wanted = WITHOUT_TTY,
    openMs = 30_000,
    stdout = Readable.from(["out"]) as Readable,
  } = {},
): Promise<Served> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const accepted = once(server, "connection") as Promise<[Socket]>;
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const [connection] = await accepted;
  const opener = new TestOpener();
  const stop = new AbortController();
  t.after(() => {
    stop.abort();
    opener.close();
    for (const each of [socket, connection]) each.destroy();
    server.close();
  });
  const frames: Frame[] = [];
  const reader = new FrameReader();
  for (const each of [socket, connection]) each.on("error", () => {});
  socket.on("data", (chunk) => frames.push(...reader.read(chunk as Buffer)));
  const session = program(stdout);
  let hasBegun = false;
  const done = serveSession(overSpdy(connection, protocol, wanted, { openMs }), {
    open: async () => {
      hasBegun = true;
      return session;
    },
    ...{ stdout: wanted.stdout, stderr: wanted.stderr, stop: stop.signal },
  });
  return { socket, connection, opener, session, begun: () => hasBegun, frames, done };
}

/** Opens them with the numbers 1, 3, 5 ... */
async function open({ socket, opener }: Served, types: string[], first = 1): Promise<void> {
  for (const [at, streamtype] of types.entries())
    socket.write(await opener.open(first + 2 * at, { streamtype }));
}

const dataOf = (frames: Frame[], id: number): string =>
  frames
    .flatMap((each) => (each.kind === "data" && each.stream === id ? [each.bytes.toString()] : []))
    .join("");
const hasEnd = (frames: Frame[], id: number): boolean =>
  frames.some((each) => each.kind === "data" && each.stream === id && each.fin);
const isReset = (frames: Frame[], id: number): boolean =>
  frames.some(
    (each) => each.kind === "control" && each.type === Type.rstStream && each.body.readUInt32BE(0) === id,
  );
const grantsOf = (frames: Frame[], id: number): number =>
  frames.reduce(
    (sum, each) =>
      each.kind === "control" && each.type === Type.windowUpdate && each.body.readUInt32BE(0) === id
        ? sum + each.body.readUInt32BE(4)
        : sum,
    0,
  );

const OUTCOMES: [SpdyProtocol, RegExp][] = [
  ["v4.channel.k8s.io", /^\{.*"reason":"ExitCode","message":"3".*\}$/],
  ["v3.channel.k8s.io", /^command terminated with non-zero exit code: exit status 3$/],
  ["v2.channel.k8s.io", /^command terminated with non-zero exit code: exit status 3$/],
];

test("each output has its stream, the input ends, and the outcome comes as the version has it", async (t) => {
  for (const [protocol, outcome] of OUTCOMES) {
    const served = await serve(t, { protocol });
    const { socket, session, frames, done } = served;
    await open(served, ["error", "stdin", "stdout", "stderr"]);
    socket.write(dataFrame(3, Buffer.from("typed"), true));
    let typed = "";
    for await (const chunk of session.stdin) typed += String(chunk);
    assert.equal(typed, "typed");
    session.stderr.end("err");
    session.end(3);
    await done;
    await eventually("all streams to end", () => [1, 3, 5, 7].every((id) => hasEnd(frames, id)));
    assert.deepEqual([dataOf(frames, 5), dataOf(frames, 7)], ["out", "err"]);
    assert.match(dataOf(frames, 1), outcome);
  }
});

test("sizes of the terminal come as JSON, however it is split, and what is none is ignored", async (t) => {
  const served = await serve(t, { wanted: { stdin: false, stdout: true, stderr: true, tty: true } });
  await open(served, ["error", "stdout", "resize"]);
  const { socket, session } = served;
  const text = `{"Width":80,"Height":24}\n{"Width":-1,"Height":24}\n{}}nonsense}\n{"Width":111,"Height":37}`;
  for (const byte of Buffer.from(text)) socket.write(dataFrame(5, Buffer.of(byte), false));
  await eventually("two sizes", () => session.sizes.length === 2);
  assert.deepEqual(session.sizes.at(-1), { columns: 111, rows: 37 });
});

test("without all of its streams a client has no program, and is sent away in time", async (t) => {
  const served = await serve(t, { openMs: 300 });
  // One lacks, and neither a second one of a type nor one of an unknown type stands in for it.
  await open(served, ["error", "stdin", "stdout", "stdout", "nonsense", "resize"]);
  await once(served.socket, "close");
  await served.done;
  assert.equal(served.begun(), false);
  for (const id of [7, 9, 11]) assert.ok(isReset(served.frames, id), String(id));
});

test("streams beyond its own are refused to a client, and its program goes on", async (t) => {
  const served = await serve(t);
  const { socket, session, frames, done } = served;
  await open(served, ["error", "stdin", "stdout", "stderr"]);
  await open(served, Array(600).fill("stdout"), 9);
  await eventually("the last one to be refused", () => isReset(frames, 9 + 2 * 599));
  socket.write(controlFrame(Type.rstStream, twoNumbers(9, Reset.cancel)));
  session.stderr.end();
  session.end(0);
  await done;
  await eventually("the outcome", () => hasEnd(frames, 1));
  assert.equal(dataOf(frames, 5), "out");
});

test("a client that breaks the protocol loses its program with its connection", async (t) => {
  const attacks = {
    control: Buffer.from([0x80, 3, 0, 1, 0, 0xff, 0xff, 0xff]),
    noise: Buffer.alloc(100, 0xff),
    again: Buffer.concat([controlFrame(Type.synStream, Buffer.alloc(10))]),
  };
  for (const [name, bytes] of Object.entries(attacks)) {
    const served = await serve(t);
    await open(served, ["error", "stdin", "stdout", "stderr"]);
    await eventually("the program to begin", () => served.begun());
    served.socket.write(bytes);
    assert.equal(await served.session.exit, 137, name);
    await served.done;
  }
});

test("what a program does not read, its client is neither granted nor is it kept", async (t) => {
  const served = await serve(t);
  const { socket, session, frames, done } = served;
  await open(served, ["error", "stdin", "stdout", "stderr"]);
  await eventually("the program to begin", () => served.begun());
  const total = 24 << 20;
  socket.write(dataFrame(3, Buffer.alloc(total >> 1), false));
  socket.write(dataFrame(3, Buffer.alloc(total >> 1), true));
  await eventually("the program's input to be full", () => session.stdin.writableNeedDrain);
  assert.ok(grantsOf(frames, 3) < 1 << 20, "grants go on");
  assert.ok(session.stdin.writableLength < 1 << 20, "the input is kept");
  let read = 0;
  for await (const chunk of session.stdin) read += (chunk as Buffer).length;
  assert.equal(read, total);
  await eventually("all of it to be granted", () => grantsOf(frames, 0) > total - (64 << 10));
  session.stderr.end();
  session.end(0);
  await done;
});

test("a client that does not read stops its program, and has all of it when it reads", async (t) => {
  const piece = Buffer.alloc(64 << 10, "x");
  const pieces = 512;
  let made = 0;
  const stdout = Readable.from(
    (function* () {
      for (; made < pieces; made += 1) yield piece;
      yield Buffer.from("last");
    })(),
    { objectMode: false },
  );
  const served = await serve(t, { stdout });
  const { socket, connection, session, frames, done } = served;
  const warnings: string[] = [];
  const warned = (warning: Error) => void warnings.push(warning.message);
  process.on("warning", warned);
  t.after(() => void process.off("warning", warned));
  socket.pause();
  await open(served, ["error", "stdin", "stdout", "stderr"]);
  await eventually("the server to wait for the client", () => connection.writableNeedDrain);
  assert.ok(connection.writableLength < 1 << 20, `${connection.writableLength} bytes are kept`);
  assert.ok(made < pieces, "the program is not stopped");
  session.stderr.end();
  session.end(0);
  socket.resume();
  await done;
  await eventually("the outcome", () => hasEnd(frames, 1));
  const got = dataOf(frames, 5);
  assert.equal(got.length, pieces * piece.length + "last".length);
  assert.deepEqual(warnings, []);
});
