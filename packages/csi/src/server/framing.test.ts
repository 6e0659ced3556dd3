import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectHttp2, type IncomingHttpHeaders, type OutgoingHttpHeaders } from "node:http2";
import { connect } from "node:net";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { pair } from "../testing/serve.ts";

/** A frame of gRPC: whether it is compressed, its declared length, and what follows. */
function frame(flag: number, length: number, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(flag, 0);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, body]);
}

async function send(
  path: string,
  bytes: Buffer,
  more: OutgoingHttpHeaders = {},
): Promise<IncomingHttpHeaders> {
  const session = connectHttp2("http://localhost", { createConnection: () => connect(path) });
  try {
    const headers: IncomingHttpHeaders = {};
    const stream = session.request({
      ":method": "POST",
      ":path": "/csi.v1.Identity/Probe",
      "content-type": "application/grpc",
      te: "trailers",
      ...more,
    });
    stream.on("error", () => {});
    for (const event of ["response", "trailers"]) {
      stream.on(event, (received: IncomingHttpHeaders) => Object.assign(headers, received));
    }
    stream.resume();
    stream.end(bytes);
    await Promise.race([once(stream, "close"), sleep(30_000, undefined, { ref: false })]);
    return headers;
  } finally {
    session.destroy();
  }
}

const empty = Buffer.alloc(0);
const good = frame(0, 0, empty);

const gzip = { "grpc-encoding": "gzip" };

/** docs/decisions/0006: what is no gRPC message is refused by the transport, before CSI is called. */
const CASES: readonly { what: string; bytes: Buffer; headers?: OutgoingHttpHeaders; code: string }[] = [
  { what: "a good message", bytes: good, code: "0" },
  { what: "a good message, compressed", bytes: compressed(empty), headers: gzip, code: "0" },
  { what: "no message", bytes: empty, code: "12" },
  { what: "two messages", bytes: Buffer.concat([good, good]), code: "12" },
  { what: "a message that is truncated", bytes: frame(0, 100, Buffer.alloc(10)), code: "12" },
  { what: "half a frame head", bytes: good.subarray(0, 3), code: "12" },
  { what: "compressed, in no encoding", bytes: frame(1, 4, Buffer.alloc(4)), code: "3" },
  { what: "a flag that does not exist", bytes: frame(7, 4, Buffer.alloc(4)), code: "3" },
  {
    what: "an unknown encoding",
    bytes: frame(1, 4, Buffer.alloc(4)),
    headers: { "grpc-encoding": "x" },
    code: "12",
  },
  { what: "not in its declared encoding", bytes: frame(1, 4, Buffer.alloc(4)), headers: gzip, code: "13" },
  {
    what: "small, but not when it is unpacked",
    bytes: compressed(Buffer.alloc(9 << 20)),
    headers: gzip,
    code: "8",
  },
  { what: "more than 4 MiB", bytes: frame(0, 5 << 20, Buffer.alloc(5 << 20)), code: "8" },
  { what: "more than 4 MiB, as it declares", bytes: frame(0, 0xffffffff, Buffer.alloc(100)), code: "8" },
];

function compressed(message: Buffer): Buffer {
  const body = gzipSync(message);
  return frame(1, body.length, body);
}

test("bytes that are no gRPC message are refused, each with one code, and the server goes on", async (t) => {
  const { client, path } = await pair(t, { identity: { probe: () => ({ ready: true }) } });
  const seen = new Map<string, unknown>();
  for (const { what, bytes, headers } of CASES)
    seen.set(what, (await send(path, bytes, headers))["grpc-status"]);
  assert.deepEqual(
    [...seen],
    CASES.map(({ what, code }) => [what, code]),
  );
  assert.equal((await client.identity.probe({})).ready, true);
});
