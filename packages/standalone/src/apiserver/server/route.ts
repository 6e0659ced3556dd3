import type { Api } from "../api.ts";
import { authorize } from "../auth/authorize.ts";
import { impersonate } from "../auth/impersonate.ts";
import { handleDiscovery } from "../discovery/handle.ts";
import { handleOpenApi } from "../discovery/openapi.ts";
import { SERVED_VERSION } from "../discovery/versions.ts";
import { inTurn } from "../fairness/in-turn.ts";
import type { Call } from "../http/call.ts";
import { send, sendText } from "../http/respond.ts";
import { handleJoin } from "../join/handle.ts";
import { handleResource } from "../resources/dispatch.ts";
import { methodNotAllowed, pathNotFound } from "../resources/target.ts";
import { handleV1 } from "../volumes/handle.ts";
import { handleHealth } from "./health.ts";

type Handler = (call: Call, api: Api) => Promise<void> | void;

/** What the first segment of a path leads to. */
const ROUTES: Readonly<Record<string, Handler>> = {
  "": (call) =>
    send(call, 200, {
      paths: [
        "/api",
        "/apis",
        "/healthz",
        "/livez",
        "/metrics",
        "/openapi/v2",
        "/openapi/v3",
        "/readyz",
        "/v1/volumes",
        "/version",
      ],
    }),
  api: (call, api) =>
    call.segments.length > 2 ? handleResource(call, api) : readOnly(call, api, handleDiscovery),
  apis: (call, api) =>
    call.segments.length > 3 ? handleResource(call, api) : readOnly(call, api, handleDiscovery),
  openapi: (call, api) => readOnly(call, api, handleOpenApi),
  v1: handleV1,
  version: (call) => send(call, 200, SERVED_VERSION),
  healthz: handleHealth,
  livez: handleHealth,
  readyz: handleHealth,
  metrics: async (call, { metrics }) => sendText(call, 200, await metrics.text()),
};

function readOnly(call: Call, api: Api, handler: Handler): Promise<void> | void {
  if (call.method !== "GET" && call.method !== "HEAD") throw methodNotAllowed();
  return handler(call, api);
}

/** Everything between authentication and the response. */
export async function route(call: Call, api: Api): Promise<void> {
  if (call.segments[0] === "join" && call.segments.length === 1) return handleJoin(call, api);
  call.user = await impersonate(call, api.authorizer);
  await authorize(call, api.authorizer);
  const first = call.segments[0] ?? "";
  const handler = Object.hasOwn(ROUTES, first) ? ROUTES[first] : undefined;
  if (handler === undefined) throw pathNotFound();
  await inTurn(call, api, () => handler(call, api));
}
