import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { after, before, test } from "node:test";
import { constants, createDeflate } from "node:zlib";
import { eventually, thorough } from "@mooring/store/testing";
import { pairs, TestOpener } from "../testing/spdy-opener.ts";
import { type SpdyStream, serveSpdy } from "./connection.ts";
import { DICTIONARY } from "./dictionary.ts";
import { controlFrame, dataFrame, Reset, Type, twoNumbers } from "./frames.ts";

const opened: SpdyStream[] = [];
let ended = 0;
const server = createServer((socket) => {
  const done = serveSpdy(socket, (stream) => {
    opened.push(stream);
    if (stream.headers.has("unread")) return;
    stream.on("data", (chunk) => stream.write(chunk)).on("end", () => stream.end());
  });
  void done.then(() => {
    ended += 1;
  });
});
before(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
after(() => server.close());

async function client(): Promise<Socket> {
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

/** Packed as the first block of a connection. */
async function block(bytes: Buffer): Promise<Buffer> {
  const deflate = createDeflate({ dictionary: DICTIONARY });
  const chunks: Buffer[] = [];
  deflate.on("data", (chunk: Buffer) => chunks.push(chunk));
  deflate.write(bytes);
  await new Promise<void>((resolve) => deflate.flush(constants.Z_SYNC_FLUSH, () => resolve()));
  deflate.close();
  return Buffer.concat(chunks);
}

const open = (id: number, packed: Buffer) =>
  controlFrame(Type.synStream, Buffer.concat([twoNumbers(id, 0), Buffer.alloc(2), packed]));

/** Everything that comes until the server ends the connection. */
async function untilClosed(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

test("a stream has its headers, gives back what comes however it is split, and pings get their response", async () => {
  const socket = await client();
  const packed = await block(pairs({ streamType: "data", port: "80" }));
  const frames = [
    open(1, packed),
    dataFrame(1, Buffer.from("hello"), true),
    controlFrame(Type.ping, Buffer.of(0, 0, 0, 7)),
  ];
  for (const byte of Buffer.concat(frames)) socket.write(Buffer.of(byte));
  let got = Buffer.alloc(0);
  for await (const chunk of socket) {
    got = Buffer.concat([got, chunk as Buffer]);
    if (got.includes(Buffer.from("hello")) && got.includes(controlFrame(Type.ping, Buffer.of(0, 0, 0, 7))))
      break;
  }
  const [stream] = opened.splice(0);
  assert.deepEqual([stream?.headers.get("streamtype"), stream?.headers.get("port")], ["data", "80"]);
});

test("what is no SPDY, too long or out of turn ends the connection, and nothing else", async () => {
  const bomb = await block(Buffer.alloc(16 * 1024 * 1024, 65));
  const packed = await block(pairs({ a: "b" }));
  const attacks: Record<string, Buffer> = {
    noise: Buffer.concat([Buffer.of(0xff), randomBytes(100)]),
    http: Buffer.from("\x80\x02GET / HTTP/1.1\r\n\r\n", "latin1"),
    long: Buffer.from([0x80, 3, 0, 1, 0, 0xff, 0xff, 0xff]),
    bomb: open(1, bomb),
    even: open(2, packed),
    short: controlFrame(Type.synStream, Buffer.alloc(4)),
    unpacked: open(1, Buffer.from("no zlib at all")),
    lying: open(1, await block(Buffer.from([0xff, 0xff, 0xff, 0xff, 1, 2]))),
  };
  for (const [name, bytes] of Object.entries(attacks)) {
    const before = ended;
    const socket = await client();
    socket.write(bytes);
    await untilClosed(socket);
    assert.equal(ended, before + 1, name);
    assert.equal(opened.length, 0, name);
  }
});

test("a client that leaves while nobody reads its stream is noticed", thorough(), async () => {
  const socket = await client();
  const before = ended;
  socket.write(open(1, await block(pairs({ unread: "yes" }))));
  await once(socket, "data");
  // More than is read ahead: the rest of it, and the client's end, stay in the kernel.
  socket.write(dataFrame(1, Buffer.alloc(8 * 1024 * 1024), false));
  await eventually("the server to read no more", () => (opened[0]?.readableLength ?? 0) > 0);
  socket.destroy();
  await eventually("the server to notice", () => ended > before);
  opened.splice(0);
});

test("streams beyond what is served are refused, and frames of unknown ones ignored", async () => {
  const socket = await client();
  const opener = new TestOpener();
  socket.write(dataFrame(99, Buffer.from("nobody's"), false));
  socket.write(controlFrame(Type.rstStream, twoNumbers(99, Reset.cancel)));
  for (let id = 1; id <= 1027; id += 2) socket.write(await opener.open(id, { a: "b" }));
  const refused = controlFrame(Type.rstStream, twoNumbers(1027, Reset.refused));
  let got = Buffer.alloc(0);
  for await (const chunk of socket) {
    got = Buffer.concat([got, chunk as Buffer]);
    if (got.includes(refused)) break;
  }
  assert.ok(got.includes(refused));
  assert.equal(opened.splice(0).length, 512);
  opener.close();
});
