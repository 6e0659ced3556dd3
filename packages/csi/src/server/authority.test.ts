import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import { pair } from "../testing/serve.ts";

const HEADERS = 1;
const RST_STREAM = 3;

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** A header as HPACK's plainest form: a literal that is not indexed, without Huffman codes. */
function header(name: string, value: string): Buffer {
  const text = (part: string) => Buffer.concat([Buffer.from([Buffer.byteLength(part)]), Buffer.from(part)]);
  return Buffer.concat([Buffer.from([0]), text(name), text(value)]);
}

/** Calls Probe with frames made by hand; returns the first frame of the response. */
function probe(path: string, extra: Record<string, string>): Promise<{ type: number; payload: Buffer }> {
  const headers = {
    ":method": "POST",
    ":scheme": "http",
    ":path": "/csi.v1.Identity/Probe",
    ...extra,
    te: "trailers",
    "content-type": "application/grpc",
  };
  const block = Buffer.concat(Object.entries(headers).map(([name, value]) => header(name, value)));
  const socket = connect(path);
  socket.write(
    Buffer.concat([
      Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
      frame(4, 0, 0, Buffer.alloc(0)),
      frame(HEADERS, 4, 1, block),
      frame(0, 1, 1, Buffer.alloc(5)),
    ]),
  );
  return new Promise((resolve, reject) => {
    let seen = Buffer.alloc(0);
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("closed without a response")));
    socket.on("data", (data) => {
      seen = Buffer.concat([seen, data]);
      while (seen.length >= 9 && seen.length >= 9 + seen.readUIntBE(0, 3)) {
        const end = 9 + seen.readUIntBE(0, 3);
        const found = {
          type: seen.readUInt8(3),
          stream: seen.readUInt32BE(5),
          payload: seen.subarray(9, end),
        };
        seen = seen.subarray(end);
        if (found.stream !== 1) continue;
        socket.removeAllListeners("close");
        socket.destroy();
        return resolve(found);
      }
    });
  });
}

/** For sockets in the abstract namespace. Node 18.20 and 20.20 take it, 22.23 and 24.21 reset the call. */
const ABSTRACT = { ":authority": "@abstract" };
const TAKES_ABSTRACT = Number.parseInt(process.versions.node, 10) < 22;

/** What current clients send over a unix socket, and what old ones sent. */
const ACCEPTED: Record<string, string>[] = [
  ...(TAKES_ABSTRACT ? [ABSTRACT] : []),
  { ":authority": "localhost" },
  { ":authority": "csi.sock" },
  { ":authority": "%2Fcsi%2Fcsi.sock" },
  { host: "localhost" },
];
const REFUSED: Record<string, string>[] = [
  ...(TAKES_ABSTRACT ? [] : [ABSTRACT]),
  { ":authority": "/csi/csi.sock" },
  { ":authority": "unix:///csi/csi.sock" },
  { ":authority": "" },
  { ":authority": "a b" },
  {},
];

for (const headers of ACCEPTED) {
  test(`a call with ${JSON.stringify(headers)} returns`, async (t) => {
    const { path } = await pair(t, {});
    assert.equal((await probe(path, headers)).type, HEADERS);
  });
}

for (const headers of REFUSED) {
  test(`a call with ${JSON.stringify(headers)} is reset as PROTOCOL_ERROR; others go on`, async (t) => {
    const { path, client } = await pair(t, {});
    await client.identity.probe({});
    const { type, payload } = await probe(path, headers);
    assert.equal(type, RST_STREAM);
    assert.equal(payload.readUInt32BE(0), 1);
    assert.equal((await client.identity.probe({})).ready, true);
  });
}
