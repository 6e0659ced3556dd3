import {
  create,
  type DescMethod,
  type DescService,
  fromBinary,
  type Message,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf";
import type {
  MethodDefinition,
  ServerUnaryCall,
  ServerWritableStream,
  ServiceDefinition,
  sendUnaryData,
  UntypedHandleCall,
  UntypedServiceImplementation,
} from "@grpc/grpc-js";
import { CsiError } from "../errors/csi-error.ts";
import { toCsiError, toStatus } from "../errors/status.ts";
import type { Logger } from "../log/logger.ts";
import { contextOf } from "./call-context.ts";
import type { CallContext } from "./context.ts";
import { compose, type Interceptor } from "./interceptor.ts";

type UntypedHandler = (request: Message, context: CallContext) => unknown;
type Bytes = Uint8Array;

/** A service as grpc-js takes it. Messages stay bytes there: a request that does not decode is the caller's fault. */
export interface Adapted {
  definition: ServiceDefinition;
  implementation: UntypedServiceImplementation;
}

export interface AdapterOptions {
  interceptors: readonly Interceptor[];
  logger: Logger;
}

const identity = (bytes: Bytes): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

function definitionOf(service: DescService, method: DescMethod): MethodDefinition<Bytes, Bytes> {
  return {
    path: `/${service.typeName}/${method.name}`,
    requestStream: false,
    responseStream: method.methodKind === "server_streaming",
    requestSerialize: identity,
    requestDeserialize: identity,
    responseSerialize: identity,
    responseDeserialize: identity,
  };
}

function decode(method: DescMethod, bytes: Bytes): Message {
  try {
    return fromBinary(method.input, bytes);
  } catch (cause) {
    const what = cause instanceof Error ? cause.message : String(cause);
    throw CsiError.invalidArgument(`the request is not a valid ${method.input.typeName}: ${what}`, { cause });
  }
}

function encode(method: DescMethod, answer: unknown): Bytes {
  return toBinary(method.output, create(method.output, answer as MessageInitShape<typeof method.output>));
}

function unimplemented(method: DescMethod): UntypedHandler {
  return () => {
    throw CsiError.unimplemented(
      `${method.parent.typeName}/${method.name} is not implemented by this plugin`,
    );
  };
}

/** Every outcome goes through one place, so that nothing a handler throws can leave the call without an answer. */
function unary(method: DescMethod, handler: UntypedHandler, { interceptors, logger }: AdapterOptions) {
  const name = `${method.parent.typeName}/${method.name}`;
  const run = compose(interceptors, async ({ request, context }) => {
    return (await handler(request, context)) as Message;
  });
  return (call: ServerUnaryCall<Bytes, Bytes>, answer: sendUnaryData<Bytes>): void => {
    const context = contextOf(call, name, logger);
    const work = async (): Promise<Bytes> => {
      const request = decode(method, call.request);
      return encode(method, await run({ method, request, context }));
    };
    work().then(
      (bytes) => answer(null, bytes),
      (error) => answer(toStatus(toCsiError(error))),
    );
  };
}

function streaming(method: DescMethod, handler: UntypedHandler, { logger }: AdapterOptions) {
  const name = `${method.parent.typeName}/${method.name}`;
  return (call: ServerWritableStream<Bytes, Bytes>): void => {
    const context = contextOf(call, name, logger);
    const work = async (): Promise<void> => {
      const answers = handler(decode(method, call.request), context) as AsyncIterable<unknown>;
      for await (const item of answers) {
        if (context.signal.aborted) return;
        if (!call.write(encode(method, item))) await drained(call, context.signal);
      }
    };
    work().then(
      () => call.end(),
      (error) => call.emit("error", toStatus(toCsiError(error))),
    );
  };
}

function drained(call: ServerWritableStream<Bytes, Bytes>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    call.once("drain", resolve);
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Typed handlers as a grpc-js service. */
export function adapt(
  service: DescService,
  handlers: Readonly<Record<string, unknown>>,
  options: AdapterOptions,
): Adapted {
  const definition: Record<string, MethodDefinition<Bytes, Bytes>> = {};
  const implementation: Record<string, UntypedHandleCall> = {};
  for (const method of service.methods) {
    const given = handlers[method.localName];
    const handler =
      typeof given === "function" ? (given.bind(handlers) as UntypedHandler) : unimplemented(method);
    definition[method.name] = definitionOf(service, method);
    implementation[method.name] =
      method.methodKind === "server_streaming"
        ? (streaming(method, handler, options) as UntypedHandleCall)
        : (unary(method, handler, options) as UntypedHandleCall);
  }
  return { definition, implementation };
}
