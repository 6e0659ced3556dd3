import { create, type DescMethod, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { type Client, Metadata } from "@grpc/grpc-js";
import { CsiError } from "../errors/csi-error.ts";
import { fromStatus } from "../errors/status.ts";
import type { CallOptions } from "../wire/method-types.ts";

const pass = (bytes: Buffer): Buffer => bytes;

/** Encodes a request from its init shape; a value the wire cannot carry is INVALID_ARGUMENT. */
export function encodeRequest(method: DescMethod, init: object): Buffer {
  try {
    return Buffer.from(toBinary(method.input, create(method.input, init)));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw CsiError.invalidArgument(`${method.input.typeName} cannot be sent: ${why}`, { cause: error });
  }
}

/** One attempt of a unary call. */
export function unaryCall(
  client: Client,
  method: DescMethod,
  request: Buffer,
  options: CallOptions,
): Promise<Message> {
  return new Promise((resolve, reject) => {
    const { signal, timeoutMs } = options;
    if (signal?.aborted) return reject(cancelled(signal));
    const call = client.makeUnaryRequest(
      pathOf(method),
      pass,
      pass,
      request,
      new Metadata(),
      deadlineOf(timeoutMs),
      (error, response) => {
        signal?.removeEventListener("abort", cancel);
        if (error !== null) return reject(signal?.aborted ? cancelled(signal) : fromStatus(error));
        try {
          resolve(fromBinary(method.output, response ?? Buffer.alloc(0)) as Message);
        } catch (cause) {
          reject(malformed(method, cause));
        }
      },
    );
    const cancel = () => call.cancel();
    signal?.addEventListener("abort", cancel, { once: true });
  });
}

/** A call that answers with a stream; leaving the loop cancels it. */
export async function* streamCall(
  client: Client,
  method: DescMethod,
  request: Buffer,
  options: CallOptions,
): AsyncIterable<Message> {
  const { signal, timeoutMs } = options;
  if (signal?.aborted) throw cancelled(signal);
  const call = client.makeServerStreamRequest(
    pathOf(method),
    pass,
    pass,
    request,
    new Metadata(),
    deadlineOf(timeoutMs),
  );
  const cancel = () => call.cancel();
  signal?.addEventListener("abort", cancel, { once: true });
  try {
    for await (const bytes of call) yield fromBinary(method.output, bytes as Buffer) as Message;
  } catch (error) {
    if (signal?.aborted) throw cancelled(signal);
    throw fromStatus(error);
  } finally {
    signal?.removeEventListener("abort", cancel);
    call.cancel();
  }
}

function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

function deadlineOf(timeoutMs: number | undefined): { deadline?: number } {
  return timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs };
}

function cancelled(signal: AbortSignal): CsiError {
  if (signal.reason instanceof Error && signal.reason.name === "TimeoutError") {
    return CsiError.deadlineExceeded("the call took too long", { cause: signal.reason });
  }
  return CsiError.cancelled("the call was cancelled", { cause: signal.reason });
}

function malformed(method: DescMethod, cause: unknown): CsiError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return CsiError.internal(`the plugin's answer is not a ${method.output.typeName}: ${why}`, { cause });
}
