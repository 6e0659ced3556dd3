import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { thorough } from "@mooring/store/testing";
import { findServers } from "./server.ts";
import { layout, over, read, running, served, write } from "./testing.ts";

const NFS = 100_003;
const LAST = 0x8000_0000;
const HUGE = 0xffff_ffff;
const COMPOUND = 1;
/** What the server may take for all of it together; 6 were seen. */
const MOST_MIB = 100;

function words(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value >>> 0, index * 4);
  return bytes;
}

/** One record (RFC 5531, section 11). */
const record = (...parts: Buffer[]): Buffer => {
  const body = Buffer.concat(parts);
  return Buffer.concat([words((LAST | body.length) >>> 0), body]);
};
/** A call (section 9) with what stands for its credentials. */
const call = (program: number, version: number, procedure: number, credentials = words(0, 0, 0, 0)) =>
  Buffer.concat([words(0x4d4f4f52, 0, 2, program, version, procedure), credentials]);
const compound = (...rest: Buffer[]) => record(call(NFS, 4, COMPOUND), ...rest);
/** Registers a client of any name (RFC 8881, section 18.35). */
const exchangeId = () =>
  compound(words(0, 1, 1, 42), randomBytes(8), words(16), randomBytes(16), words(0, 0, 0));

const many = (count: number, make: () => Buffer) => Array.from({ length: count }, make);
const HOSTILE: Readonly<Record<string, () => Buffer[]>> = {
  "random bytes": () => many(50, () => randomBytes(4096)),
  "records that never end": () => many(50, () => Buffer.concat([words(HUGE & ~LAST), randomBytes(2000)])),
  "records as long as can be": () => many(50, () => Buffer.concat([words(HUGE), randomBytes(2000)])),
  "records of nothing": () => many(5, () => Buffer.alloc(40_000)),
  "random calls": () => many(50, () => record(call(NFS, 4, COMPOUND), randomBytes(200))),
  "other programs and versions": () =>
    [0, 1, 2, 3, 5, HUGE].flatMap((version) =>
      [NFS, 100_000, 100_005, 100_021, 0x4000_0000].map((program) => record(call(program, version, 99))),
    ),
  "credentials without an end": () =>
    [0, 1, 6, 7, HUGE].map((flavor) => record(call(NFS, 4, COMPOUND, words(flavor, HUGE, 0, HUGE)))),
  "RPCSEC_GSS of nobody": () =>
    many(20, () => record(call(NFS, 4, 1, Buffer.concat([words(6, 100), randomBytes(100)])))),
  "operations without number": () => many(20, () => compound(words(0, 1, HUGE, 24, 15, HUGE))),
  "a tag without end": () => many(20, () => compound(words(HUGE, 1, 1))),
  "clients without number": () => many(500, exchangeId),
  "a TLS greeting": () => [Buffer.concat([Buffer.from("16030100f0010000ec0303", "hex"), randomBytes(232)])],
};

/** The connection stays as long as the server lets it. */
async function send(host: string, port: number, bytes: Buffer): Promise<Socket> {
  const socket = connect({ host, port });
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.resume().write(bytes);
  return socket;
}

async function memoryMiB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

test(
  "what is no NFS, from whoever reaches the port, ends neither a share's server nor its clients",
  thorough(),
  async (t) => {
    const bench = await served(t);
    const [, host = "", port] = /^nfs:\/\/(.+):(\d+)\//.exec(await running(bench)) ?? [];
    await write(bench, "f", "kept");
    const [server = 0] = await findServers(layout(bench));
    const before = await memoryMiB(server);
    for (const [what, make] of Object.entries(HOSTILE)) {
      const sockets: Socket[] = [];
      for (const bytes of make()) sockets.push(await send(host, Number(port), bytes));
      assert.equal(await read(bench, "f"), "kept", what);
      for (const socket of sockets) socket.destroy();
      assert.deepEqual(await findServers(layout(bench)), [server], what);
      assert.ok((await memoryMiB(server)) - before < MOST_MIB, what);
    }
    const silent: Socket[] = [];
    for (let each = 0; each < 1500; each += 1) silent.push(await send(host, Number(port), Buffer.alloc(0)));
    assert.equal(await read(bench, "f"), "kept", "beside connections without a word");
    assert.ok((await memoryMiB(server)) - before < MOST_MIB);
    for (const socket of silent) socket.destroy();
    assert.equal(await read(bench, "f"), "kept");
    await over(bench);
  },
);
