import { create, type DescMethod, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import type { Client, CallOptions as GrpcCallOptions } from "@grpc/grpc-js";
import { fullName } from "../calls/interceptor.ts";
import { Code } from "../errors/codes.ts";
import { CsiError } from "../errors/csi-error.ts";
import { fromStatus } from "../errors/status.ts";
import type { CallOptions } from "../wire/method-types.ts";

/**
 * grpc-js' message when the deadline that we set has passed. It contains the milliseconds that each part of the call took, so no two
 * are alike: a controller that writes the message into an object would write at every attempt.
 */
const OWN_DEADLINE = /^Deadline exceeded(?: after |$)/;

/** grpc-js' message when nobody listens at the socket, around what the kernel said. */
const NOT_THERE = /^No connection established\. Last error: (?:Error: )?(.+?)\. Resolution note: /;

const pass = (bytes: Buffer): Buffer => bytes;

/** Encodes a request from its init shape; a value that the wire cannot carry is INVALID_ARGUMENT. */
export function encodeRequest(method: DescMethod, init: Record<string, unknown>): Buffer {
  try {
    return Buffer.from(toBinary(method.input, create(method.input, init)));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw CsiError.invalidArgument(`${method.input.typeName} cannot be sent: ${why}`, { cause });
  }
}

/** One unary call. Every failure is a `CsiError`. */
export function callUnary(
  client: Client,
  method: DescMethod,
  request: Buffer,
  options: CallOptions,
): Promise<Message> {
  const { signal } = options;
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(stopped(signal));
    const call = client.makeUnaryRequest(
      `/${fullName(method)}`,
      pass,
      pass,
      request,
      grpcOptions(options),
      (error, response) => {
        signal?.removeEventListener("abort", cancel);
        if (error !== null) reject(failure(error, method, options));
        else resolve(decode(method, response));
      },
    );
    const cancel = (): void => call.cancel();
    signal?.addEventListener("abort", cancel, { once: true });
  });
}

/** One call whose response is a stream. Leaving the loop early cancels it. */
export async function* callStream(
  client: Client,
  method: DescMethod,
  request: Buffer,
  options: CallOptions,
): AsyncGenerator<Message, void> {
  const { signal } = options;
  if (signal?.aborted === true) throw stopped(signal);
  const path = `/${fullName(method)}`;
  const stream = client.makeServerStreamRequest(path, pass, pass, request, grpcOptions(options));
  const cancel = (): void => stream.cancel();
  signal?.addEventListener("abort", cancel, { once: true });
  try {
    for await (const bytes of stream) yield await decode(method, bytes as Buffer);
  } catch (error) {
    throw failure(error, method, options);
  } finally {
    signal?.removeEventListener("abort", cancel);
    stream.cancel();
  }
}

function grpcOptions({ timeoutMs }: CallOptions): GrpcCallOptions {
  return timeoutMs === undefined || timeoutMs === Infinity ? {} : { deadline: Date.now() + timeoutMs };
}

async function decode(method: DescMethod, bytes: Buffer | undefined): Promise<Message> {
  try {
    return fromBinary(method.output, bytes ?? Buffer.alloc(0));
  } catch (cause) {
    throw CsiError.internal(`the plugin's response is not a valid ${method.output.typeName}`, { cause });
  }
}

function failure(error: unknown, method: DescMethod, { signal, timeoutMs }: CallOptions): CsiError {
  if (signal?.aborted === true) return stopped(signal);
  const failed = fromStatus(error);
  const [, why] = NOT_THERE.exec(failed.message) ?? [];
  if (failed.code === Code.UNAVAILABLE && why !== undefined)
    return CsiError.unavailable(`no plugin responds: ${why}; see whether it runs`, { cause: error });
  if (failed.code !== Code.DEADLINE_EXCEEDED || !OWN_DEADLINE.test(failed.message)) return failed;
  const message = `the plugin did not respond to ${method.name} within ${timeoutMs} ms`;
  return CsiError.deadlineExceeded(message, { cause: error });
}

function stopped({ reason }: AbortSignal): CsiError {
  if (reason instanceof CsiError) return reason;
  if (reason instanceof Error && reason.name === "TimeoutError") {
    return CsiError.deadlineExceeded("the call took too long", { cause: reason });
  }
  return CsiError.cancelled("the call was cancelled", { cause: reason });
}
