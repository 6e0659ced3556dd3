import { randomUUID } from "node:crypto";
import { type DescMethod, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import type { MethodDefinition, ServerUnaryCall, ServerWritableStream, sendUnaryData } from "@grpc/grpc-js";
import { CsiError } from "../errors/csi-error.ts";
import { toCsiError, toStatus } from "../errors/status.ts";
import type { Logger } from "../log/logger.ts";
import { fullName, type Invoke } from "./call.ts";
import type { CallContext } from "./context.ts";
import { writeAll } from "./write-stream.ts";

type Bytes = Buffer;
type Wire = MethodDefinition<Bytes, Bytes>;
type Call = ServerUnaryCall<Bytes, Bytes> | ServerWritableStream<Bytes, Bytes>;

/** What grpc-js needs to route a method. Bytes go through untouched: decoding them is ours, so that bytes which
 * are not a message are the caller's fault (INVALID_ARGUMENT) and not ours (INTERNAL). */
export function wireDefinition(method: DescMethod): Wire {
  return {
    path: `/${fullName(method)}`,
    requestStream: false,
    responseStream: method.methodKind === "server_streaming",
    requestSerialize: (bytes) => bytes,
    requestDeserialize: (bytes) => bytes,
    responseSerialize: (bytes) => bytes,
    responseDeserialize: (bytes) => bytes,
  };
}

/** The grpc-js handler of a unary method. It settles every call, whatever `invoke` does. */
export function bindUnary(method: DescMethod, invoke: Invoke, logger: Logger) {
  return (call: ServerUnaryCall<Bytes, Bytes>, callback: sendUnaryData<Bytes>): void => {
    const { context, release } = openContext(call, method, logger);
    const work = async () => {
      const answer = await invoke({
        service: method.parent,
        method,
        context,
        request: decode(method, call.request),
      });
      return encode(method, answer as Message);
    };
    work()
      .then(
        (bytes) => callback(null, bytes),
        (thrown: unknown) => callback(toStatus(toCsiError(thrown))),
      )
      .finally(release)
      .catch((error: unknown) =>
        logger.error({ err: error, method: context.method }, "an answer could not be sent"),
      );
  };
}

/** The grpc-js handler of a method that answers with a stream. */
export function bindStream(method: DescMethod, invoke: Invoke, logger: Logger) {
  return (call: ServerWritableStream<Bytes, Bytes>): void => {
    const { context, release } = openContext(call, method, logger);
    const work = async () => {
      const answer = await invoke({
        service: method.parent,
        method,
        context,
        request: decode(method, call.request),
      });
      await writeAll(
        call,
        answer as AsyncIterable<Message>,
        (message) => encode(method, message),
        context.signal,
      );
    };
    work()
      .then(
        () => call.end(),
        (thrown: unknown) => call.emit("error", toStatus(toCsiError(thrown))),
      )
      .finally(release)
      .catch((error: unknown) =>
        logger.error({ err: error, method: context.method }, "a stream could not be ended"),
      );
  };
}

function openContext(
  call: Call,
  method: DescMethod,
  logger: Logger,
): { context: CallContext; release: () => void } {
  const abort = new AbortController();
  const deadline = toDate(call.getDeadline());
  const onCancelled = () => {
    const late = deadline !== undefined && deadline.getTime() <= Date.now();
    abort.abort(
      late
        ? CsiError.deadlineExceeded("the caller's deadline passed")
        : CsiError.cancelled("the caller cancelled the call or went away"),
    );
  };
  call.on("cancelled", onCancelled);
  const requestId = randomUUID();
  const context: CallContext = {
    signal: abort.signal,
    deadline,
    requestId,
    method: fullName(method),
    logger: logger.child({ requestId, method: fullName(method) }),
  };
  return { context, release: () => call.off("cancelled", onCancelled) };
}

function toDate(deadline: Date | number): Date | undefined {
  const time = Number(deadline);
  return Number.isFinite(time) ? new Date(time) : undefined;
}

function decode(method: DescMethod, bytes: Bytes): Message {
  try {
    return fromBinary(method.input, bytes);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw CsiError.invalidArgument(`the request is not a ${method.input.typeName}: ${why}`, {
      reason: "CSI_REQUEST_MALFORMED",
      cause: error,
    });
  }
}

function encode(method: DescMethod, message: Message): Bytes {
  try {
    return Buffer.from(toBinary(method.output, message));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw CsiError.internal(`the plugin's answer is not a valid ${method.output.typeName}: ${why}`, {
      reason: "CSI_ANSWER_MALFORMED",
      cause: error,
    });
  }
}
