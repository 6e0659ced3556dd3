import {
  create,
  type DescMethod,
  fromBinary,
  type Message,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf";
import type { Client, CallOptions as GrpcCallOptions } from "@grpc/grpc-js";
import { CsiError } from "../errors/csi-error.ts";
import { fromStatus, toCsiError } from "../errors/status.ts";
import type { CallOptions } from "../wire/method-types.ts";

type Bytes = Uint8Array;
const identity = (bytes: Bytes): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

function encode(method: DescMethod, request: unknown): Bytes {
  return toBinary(method.input, create(method.input, request as MessageInitShape<typeof method.input>));
}

function decode(method: DescMethod, bytes: Bytes): Message {
  try {
    return fromBinary(method.output, bytes);
  } catch (cause) {
    throw CsiError.internal(`the answer is not a valid ${method.output.typeName}`, { cause });
  }
}

function grpcOptions({ timeoutMs }: CallOptions): GrpcCallOptions {
  return timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs };
}

/** One unary call. Every failure is a CsiError. */
export function callUnary(
  client: Client,
  method: DescMethod,
  request: unknown,
  options: CallOptions,
): Promise<Message> {
  return new Promise((resolve, reject) => {
    const { signal } = options;
    if (signal?.aborted === true) {
      reject(toCsiError(signal.reason));
      return;
    }
    const bytes = encode(method, request);
    const call = client.makeUnaryRequest<Bytes, Bytes>(
      pathOf(method),
      identity,
      identity,
      bytes,
      grpcOptions(options),
      (error, answer) => {
        signal?.removeEventListener("abort", cancel);
        if (error !== null) reject(fromStatus(error));
        else if (answer === undefined) reject(CsiError.internal("the call ended without an answer"));
        else {
          try {
            resolve(decode(method, answer));
          } catch (failure) {
            reject(toCsiError(failure));
          }
        }
      },
    );
    const cancel = (): void => call.cancel();
    signal?.addEventListener("abort", cancel, { once: true });
  });
}

/** One call that is answered with a stream. */
export async function* callStream(
  client: Client,
  method: DescMethod,
  request: unknown,
  options: CallOptions,
): AsyncGenerator<Message, void> {
  const stream = client.makeServerStreamRequest<Bytes, Bytes>(
    pathOf(method),
    identity,
    identity,
    encode(method, request),
    grpcOptions(options),
  );
  const cancel = (): void => stream.cancel();
  options.signal?.addEventListener("abort", cancel, { once: true });
  try {
    for await (const bytes of stream) yield decode(method, bytes as Bytes);
  } catch (error) {
    throw fromStatus(error);
  } finally {
    options.signal?.removeEventListener("abort", cancel);
    stream.cancel();
  }
}
