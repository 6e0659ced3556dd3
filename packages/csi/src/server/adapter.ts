import { type DescMethod, type DescService, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import type {
  MethodDefinition,
  Server,
  ServerUnaryCall,
  ServerWritableStream,
  sendUnaryData,
  UntypedHandleCall,
} from "@grpc/grpc-js";
import type { CallContext } from "../calls/context.ts";
import { type CallResponse, fullName, isStream, type Next } from "../calls/interceptor.ts";
import { CsiError } from "../errors/csi-error.ts";
import { toCsiError, toStatus } from "../errors/status.ts";
import type { Logger } from "../log/logger.ts";
import { type Observe, observed } from "../metrics/observe.ts";
import { contextOf } from "./call-context.ts";
import { notImplemented } from "./route.ts";
import { writeAll } from "./write-stream.ts";

/** Messages stay bytes inside grpc-js: bytes that do not decode are the caller's fault, not the plugin's. */
const pass = (bytes: Buffer): Buffer => bytes;

/** What is done with the calls of a service. */
interface Serving {
  /** Where calls of a method go. Undefined: it is not served, and every call of it is UNIMPLEMENTED, also one that does not decode. */
  readonly nextOf: (method: DescMethod) => Next | undefined;
  readonly logger: Logger;
  readonly observe: Observe | undefined;
}

/** Registers all methods of a service with grpc-js. */
export function addService(server: Server, service: DescService, serving: Serving): void {
  const definition = service.methods.map((method) => [method.name, definitionOf(method)]);
  const implementation = service.methods.map((method): [string, UntypedHandleCall] => [
    method.name,
    method.methodKind === "server_streaming" ? stream(method, serving) : unary(method, serving),
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

/** Every outcome goes through one place, so that nothing a handler throws can leave the call without a response. */
function unary(method: DescMethod, serving: Serving) {
  return (call: ServerUnaryCall<Buffer, Buffer>, send: sendUnaryData<Buffer>): void => {
    const context = contextOf(call, fullName(method), serving.logger);
    observed(fullName(method), serving.observe, context.logger, async () => {
      const response = await ask(method, call.request, context, serving);
      return encode(method, single(method, response), context);
    })
      .then(
        (bytes) => send(null, bytes),
        (thrown: unknown) => send(toStatus(toCsiError(thrown))),
      )
      .catch((err: unknown) => context.logger.error({ err }, "the response could not be sent"));
  };
}

function stream(method: DescMethod, serving: Serving) {
  return (call: ServerWritableStream<Buffer, Buffer>): void => {
    const context = contextOf(call, fullName(method), serving.logger);
    observed(fullName(method), serving.observe, context.logger, async () => {
      const response = await ask(method, call.request, context, serving);
      const messages = isStream(response) ? response : once(response);
      await writeAll(call, messages, (message) => encode(method, message, context), context.signal);
    })
      .then(
        () => call.end(),
        (thrown: unknown) => call.emit("error", toStatus(toCsiError(thrown))),
      )
      .catch((err: unknown) => context.logger.error({ err }, "the stream could not be ended"));
  };
}

function ask(
  method: DescMethod,
  bytes: Buffer,
  context: CallContext,
  { nextOf }: Serving,
): Promise<CallResponse> {
  const next = nextOf(method);
  if (next !== undefined) return next({ method, context, request: decode(method, bytes, context) });
  const error = notImplemented(method);
  context.logger.info({ code: error.codeName }, error.message);
  throw error;
}

async function* once(message: Message): AsyncIterable<Message> {
  yield message;
}

function single(method: DescMethod, response: CallResponse): Message {
  if (!isStream(response)) return response;
  throw CsiError.internal(`an interceptor responded to ${fullName(method)} with a stream`);
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

function encode(method: DescMethod, message: Message, { logger }: CallContext): Buffer {
  try {
    return Buffer.from(toBinary(method.output, message));
  } catch (cause) {
    const problem = `the plugin's response is not a valid ${method.output.typeName}: ${text(cause)}`;
    logger.error({ code: "INTERNAL", err: cause }, problem);
    throw CsiError.internal(problem, { reason: "CSI_RESPONSE_MALFORMED", cause });
  }
}

function text(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
