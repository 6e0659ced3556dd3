import { once } from "node:events";
import { connect as connectHttp2, type IncomingHttpHeaders } from "node:http2";
import { connect } from "node:net";

export interface WireResponse {
  /** gRPC status as a number. */
  status: number;
  /** grpc-message, decoded. */
  message: string;
  /** Headers and trailers. */
  headers: IncomingHttpHeaders;
  /** Messages of the response without their frames. */
  messages: Buffer[];
}

/** One unary call as bytes over HTTP/2, by a client that shares nothing with the driver's own library. */
export async function wireCall(socket: string, path: string, request: Uint8Array): Promise<WireResponse> {
  const session = connectHttp2("http://localhost", { createConnection: () => connect(socket) });
  try {
    const stream = session.request({
      ...{ ":method": "POST", ":path": path, "content-type": "application/grpc", te: "trailers" },
    });
    const headers: IncomingHttpHeaders = {};
    const chunks: Buffer[] = [];
    stream.on("response", (more) => Object.assign(headers, more));
    stream.on("trailers", (more) => Object.assign(headers, more));
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.end(frame(request));
    await once(stream, "end");
    const status = Number(headers["grpc-status"] ?? "NaN");
    const message = decodeURIComponent(String(headers["grpc-message"] ?? ""));
    return { status, message, headers, messages: unframe(Buffer.concat(chunks)) };
  } finally {
    session.close();
  }
}

function frame(message: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

function unframe(bytes: Buffer): Buffer[] {
  const messages: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at + 1);
    messages.push(bytes.subarray(at + 5, at + 5 + length));
    at += 5 + length;
  }
  return messages;
}
