import { createServer } from "node:http2";

/**
 * The least that can serve a gRPC call, as a process of its own: `echo SOCKET`. It reads a request, and responds with
 * as many bytes as the request's first four bytes (big endian) ask for. Prints "ready" when it listens.
 */
const [socket = ""] = process.argv.slice(2);
const server = createServer();
server.on("stream", (stream) => {
  const chunks: Buffer[] = [];
  stream.on("error", () => {});
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  stream.on("end", () => {
    const request = Buffer.concat(chunks).subarray(5);
    const size = request.length < 4 ? 0 : request.readUInt32BE(0);
    const response = Buffer.alloc(5 + size);
    response.writeUInt32BE(size, 1);
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.end(response);
  });
});
server.listen(socket, () => process.stdout.write("ready\n"));
process.once("SIGTERM", () => process.exit(0));
