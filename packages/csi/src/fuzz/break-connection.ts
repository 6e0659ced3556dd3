import { connect as connectSession } from "node:http2";
import { connect } from "node:net";
import type { Random } from "./random.ts";

/** Longest time that one broken connection may take, in milliseconds. */
const LIMIT_MS = 2000;

/** A request that is broken off at a random byte together with its connection. Always settles. */
export function breakConnection(path: string, method: string, bytes: Buffer, random: Random): Promise<void> {
  const frame = Buffer.concat([Buffer.from([0, 0, 0, 0, 0]), bytes]);
  frame.writeUInt32BE(bytes.length, 1);
  const part = frame.subarray(0, random.below(frame.length + 1));
  const how = random.pick(["cancel", "destroy", "end-early", "garbage"] as const);
  return new Promise((resolve) => {
    if (how === "garbage") return garbage(path, random.bytes(random.below(300)), resolve);
    const session = connectSession("http://localhost", { createConnection: () => connect(path) });
    const timer = setTimeout(() => session.destroy(), LIMIT_MS);
    session.once("close", () => {
      clearTimeout(timer);
      resolve();
    });
    session.on("error", () => {});
    const stream = session.request({
      ":method": "POST",
      ":path": method,
      "content-type": "application/grpc",
      te: "trailers",
    });
    stream.on("error", () => {});
    stream.on("close", () => session.destroy());
    stream.resume();
    stream.write(part, () => {
      if (how === "cancel") stream.close(8);
      else if (how === "destroy") session.destroy();
      else stream.end();
    });
  });
}

/** Bytes that are not HTTP/2 at all. */
function garbage(path: string, bytes: Buffer, done: () => void): void {
  const socket = connect(path);
  const timer = setTimeout(() => socket.destroy(), LIMIT_MS);
  socket.on("error", () => {});
  socket.once("close", () => {
    clearTimeout(timer);
    done();
  });
  socket.resume();
  socket.end(bytes);
}
