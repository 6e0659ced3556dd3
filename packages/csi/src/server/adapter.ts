import { type DescMethod, type DescService, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import type {
  MethodDefinition,
  Server,
  ServerUnaryCall,
  ServerWritableStream,
  sendUnaryData,
  UntypedHandleCall,
} from "@grpc/grpc-js";
import { CsiError } from "../errors/csi-error.ts";
import { toCsiError, toStatus } from "../errors/status.ts";
import type { Logger } from "../log/logger.ts";
import { contextOf } from "./call-context.ts";
import type { CallContext } from "./context.ts";
import { type Answer, fullName, isStream, type Next } from "./interceptor.ts";
import { writeAll } from "./write-stream.ts";

/** Messages stay bytes inside grpc-js: bytes that do not decode are the caller's fault, not the plugin's. */
const pass = (bytes: Buffer): Buffer => bytes;

/** Registers all methods of a service with grpc-js; every call goes to `next`. */
export function addService(server: Server, service: DescService, next: Next, logger: Logger): void {
  const definition = service.methods.map((method) => [method.name, definitionOf(method)]);
  const implementation = service.methods.map((method): [string, UntypedHandleCall] => [
    method.name,
    method.methodKind === "server_streaming" ? stream(method, next, logger) : unary(method, next, logger),
  ]);
  server.addService(Object.fromEntries(definition), Object.fromEntries(implementation));
}

function definitionOf(method: DescMethod): MethodDefinition<Buffer, Buffer> {
  return {
    path: `/${fullName(method)}`,
    requestStream: false,
    responseStream: method.methodKind === "server_streaming",
    requestSerialize: pass,
    requestDeserialize: pass,
    responseSerialize: pass,
    responseDeserialize: pass,
  };
}

/** Every outcome goes through one place, so that nothing a handler throws can leave the call without an answer. */
function unary(method: DescMethod, next: Next, logger: Logger) {
  return (call: ServerUnaryCall<Buffer, Buffer>, send: sendUnaryData<Buffer>): void => {
    const context = contextOf(call, fullName(method), logger);
    const work = async (): Promise<Buffer> => {
      const answer = await next({ method, context, request: decode(method, call.request, context) });
      return encode(method, single(method, answer));
    };
    work()
      .then(
        (bytes) => send(null, bytes),
        (thrown: unknown) => send(toStatus(toCsiError(thrown))),
      )
      .catch((err: unknown) => context.logger.error({ err }, "the answer could not be sent"));
  };
}

function stream(method: DescMethod, next: Next, logger: Logger) {
  return (call: ServerWritableStream<Buffer, Buffer>): void => {
    const context = contextOf(call, fullName(method), logger);
    const work = async (): Promise<void> => {
      const answer = await next({ method, context, request: decode(method, call.request, context) });
      const messages = isStream(answer) ? answer : once(answer);
      await writeAll(call, messages, (message) => encode(method, message), context.signal);
    };
    work()
      .then(
        () => call.end(),
        (thrown: unknown) => call.emit("error", toStatus(toCsiError(thrown))),
      )
      .catch((err: unknown) => context.logger.error({ err }, "the stream could not be ended"));
  };
}

async function* once(message: Message): AsyncIterable<Message> {
  yield message;
}

function single(method: DescMethod, answer: Answer): Message {
  if (!isStream(answer)) return answer;
  throw CsiError.internal(`an interceptor answered ${fullName(method)} with a stream`);
}

function decode(method: DescMethod, bytes: Buffer, { logger }: CallContext): Message {
  try {
    return fromBinary(method.input, bytes);
  } catch (cause) {
    const message = `the request is not a valid ${method.input.typeName}: ${text(cause)}`;
    logger.info({ code: "INVALID_ARGUMENT", bytes: bytes.length }, message);
    throw CsiError.invalidArgument(message, { reason: "CSI_REQUEST_MALFORMED", cause });
  }
}

function encode(method: DescMethod, message: Message): Buffer {
  try {
    return Buffer.from(toBinary(method.output, message));
  } catch (cause) {
    throw CsiError.internal(`the plugin's answer is not a valid ${method.output.typeName}: ${text(cause)}`, {
      reason: "CSI_ANSWER_MALFORMED",
      cause,
    });
  }
}

function text(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
