import { badRequest, defined, type Pod, Pods, StatusError } from "@mooring/store";
import type { Connect, WantedStreams } from "../../streams/client.ts";
import type { Upgrade } from "../../streams/handshake.ts";
import { acceptTransport, type Transport } from "../../streams/transport.ts";
import type { Api } from "../api.ts";
import { attributesOf } from "../auth/attributes.ts";
import { forbidden } from "../auth/authorize.ts";
import type { Call } from "../http/call.ts";
import type { ItemTarget } from "../resources/target.ts";

/** Who may open a stream into a pod has to be allowed to create one, also where a WebSocket asks for it by GET. */
export async function authorizeStream(call: Call, { authorizer }: Api): Promise<void> {
  const attributes = { ...attributesOf(call), verb: "create" };
  if (!(await authorizer.allowed(call.user, attributes))) throw forbidden(call.user, attributes);
}

/** The pod of a stream; it has a node. */
export async function podOf(target: ItemTarget, { store }: Api): Promise<Pod> {
  const pod = await store.get<Pod>(Pods, { namespace: target.namespace ?? "", name: target.name });
  if (!pod.spec?.nodeName) throw badRequest(`pod ${target.name} does not have a host assigned`);
  return pod;
}

/** Throws unless this server has a kubelet that can do that. */
export function kubeletOf({ kubelet }: Api): NonNullable<Api["kubelet"]> {
  if (kubelet === undefined)
    throw new StatusError("ServiceUnavailable", "this server runs without a node agent: no pods");
  return kubelet;
}

/** What a client does in a pod. */
export interface StreamUse {
  does: string;
  container?: string;
  program?: string;
}

/** Takes the connection of the request over. Nothing may throw after that. */
export async function openTransport(
  { request, response }: Call,
  upgrade: Upgrade,
  transport: Transport,
  wanted: WantedStreams,
): Promise<Connect> {
  const connect = await acceptTransport(transport, { request, response, upgrade }, wanted);
  response.statusCode = 101;
  return connect;
}

/** The request's connection, after a record of who has asked for it was left. */
export function noted(
  { response, upgrade, user }: Call,
  target: ItemTarget,
  { logger }: Api,
  { container, does, program }: StreamUse,
): Upgrade {
  if (upgrade === undefined) throw badRequest("Upgrade request required");
  logger.info(
    {
      ...{ audit: response.getHeader("Audit-Id"), user: user.username, does },
      ...{ namespace: target.namespace, pod: target.name },
      // Not its arguments: passwords are typed there.
      ...defined({ container, program }),
    },
    "a stream into a pod is opened",
  );
  return upgrade;
}
