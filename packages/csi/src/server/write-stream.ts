import { once } from "node:events";
import type { Message } from "@bufbuild/protobuf";
import type { ServerWritableStream } from "@grpc/grpc-js";

/** Writes messages no faster than the caller reads, and ends the source when the caller is gone. */
export async function writeAll(
  call: ServerWritableStream<Buffer, Buffer>,
  messages: AsyncIterable<Message>,
  encode: (message: Message) => Buffer,
  signal: AbortSignal,
): Promise<void> {
  for await (const message of messages) {
    signal.throwIfAborted();
    if (!call.write(encode(message))) await once(call, "drain", { signal });
  }
}
