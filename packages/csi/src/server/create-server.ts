import type { DescMethod, DescService } from "@bufbuild/protobuf";
import type { Server } from "@grpc/grpc-js";
import { compose, type Interceptor } from "../calls/interceptor.ts";
import { logCalls } from "../calls/log-calls.ts";
import { complete } from "../capabilities/complete.ts";
import type { ExtraCapabilities } from "../capabilities/derive.ts";
import { type Logger, silentLogger } from "../log/logger.ts";
import type { Observe } from "../metrics/observe.ts";
import { singleFlight } from "../operations/single-flight.ts";
import { socketPath } from "../sockets/endpoint.ts";
import { methodOfV1, serveV0 } from "../v0/bridge.ts";
import { requireStaging } from "../validation/require-staging.ts";
import { validateRequests } from "../validation/validate.ts";
import { validateResponses } from "../validation/validate-responses.ts";
import type { AnyHandlers, Services } from "../wire/handlers.ts";
import { type ServiceName, servicesV0, services as wire } from "../wire/services.ts";
import { addService } from "./adapter.ts";
import { type CsiServer, onSocket } from "./on-socket.ts";
import { hasHandler, route } from "./route.ts";

/** How a server listens, and what is around its handlers. */
export interface ServerOptions {
  /** `unix:///path/to/csi.sock`, as in `CSI_ENDPOINT`. */
  endpoint: string;
  logger?: Logger;
  /** Around every call of a method that has a handler, the first outermost. They run after logging and validation, before the locks. */
  interceptors?: readonly Interceptor[];
  /**
   * Called after every call of a CSI method, with the method that was called and the code that was
   * returned, whatever refused it: the wire, a field rule, a service that is not served. A place for metrics.
   */
  observe?: Observe;
  /** What the handlers cannot show by being there, for example `{ controller: ["CLONE_VOLUME"] }`. */
  capabilities?: ExtraCapabilities;
  /** Also serve csi.v0 by the same handlers. Default true. */
  v0?: boolean;
  /** Return INTERNAL where a handler's response breaks a rule of the wire, which is otherwise a warning. Default false. */
  strictResponses?: boolean;
  /** One operation at a time on an object, which the same request joins. Default true. */
  locks?: boolean;
}

/** Serves CSI handlers on a unix socket: csi.v1, and by the same handlers csi.v0. */
export function createServer(services: Services, options: ServerOptions): CsiServer {
  const path = socketPath(options.endpoint);
  return onSocket(path, (server) => addServices(server, services, options));
}

function addServices(server: Server, given: Services, options: ServerOptions): void {
  const logger = options.logger ?? silentLogger;
  const served = new Map<DescService, AnyHandlers>();
  for (const [name, handlers] of Object.entries(complete(given, options.capabilities ?? {}))) {
    if (handlers !== undefined) served.set(wire[name as ServiceName], handlers);
  }
  const v1 = compose(
    [
      logCalls,
      validateRequests,
      validateResponses({ strict: options.strictResponses ?? false }),
      ...(served.get(wire.node)?.nodeStageVolume === undefined ? [] : [requireStaging]),
      ...(options.interceptors ?? []),
      ...(options.locks === false ? [] : [singleFlight()]),
    ],
    route(served),
  );
  const common = { logger, observe: options.observe };
  const nextOf = (method: DescMethod) => (hasHandler(served, method) ? v1 : undefined);
  for (const service of Object.values(wire)) addService(server, service, { ...common, nextOf });
  const v0 = options.v0 === false ? undefined : serveV0(v1);
  const nextOfV0 = (method: DescMethod) => {
    const asV1 = methodOfV1(method);
    return asV1 !== undefined && hasHandler(served, asV1) ? v0 : undefined;
  };
  for (const service of Object.values(servicesV0))
    addService(server, service, { ...common, nextOf: nextOfV0 });
}
