import { timingSafeEqual } from "node:crypto";
import { type ClientRequest, request as httpRequest } from "node:http";
import { request as httpsRequest, type RequestOptions } from "node:https";
import {
  apiVersionOf,
  getIfAny,
  isAlreadyExists,
  isNotFound,
  mutate,
  type ObjectStore,
  type Secret,
  Secrets,
} from "@mooring/store";

/** How the API server reaches the logs that a node keeps. */
export interface NodeAccess {
  /** IP address and port that the node listens on. */
  host: string;
  port: number;
  /** PEM of the authority that the node has made for itself at this start, and of which only it has the key. */
  ca: string;
  /** Bearer token that the node demands. Only who may read the node's Secret knows it. */
  token: string;
}

/** The node of this process: its socket, below a folder that no other user can enter. */
export interface LocalAccess {
  socketPath: string;
}

/** A request to a node, and the event by which its socket says that the node is there. */
export function requestTo(
  access: NodeAccess | LocalAccess,
  options: RequestOptions,
): { sent: ClientRequest; connected: "connect" | "secureConnect" } {
  const common = { ...options, agent: false } as const;
  if ("socketPath" in access)
    return { sent: httpRequest({ ...common, socketPath: access.socketPath }), connected: "connect" };
  const { host, port, ca, token } = access;
  const headers = { ...options.headers, authorization: `Bearer ${token}` };
  const sent = httpsRequest({ ...common, headers, host, port, ca, minVersion: "TLSv1.2" });
  return { sent, connected: "secureConnect" };
}

const NAMESPACE = "kube-system";
const keyOf = (nodeName: string) => ({ namespace: NAMESPACE, name: `mooring-node-logs-${nodeName}` });

/** Writes the node's address, authority and token into its Secret, over those of an earlier start. */
export async function publishAccess(store: ObjectStore, nodeName: string, access: NodeAccess): Promise<void> {
  const { host, port, ca, token } = access;
  const data = Object.fromEntries(
    Object.entries({ host, port: String(port), ca, token }).map(([name, value]) => [
      name,
      Buffer.from(value).toString("base64"),
    ]),
  );
  const key = keyOf(nodeName);
  const secret: Secret = { apiVersion: apiVersionOf(Secrets), kind: "Secret", metadata: key, data };
  try {
    await store.create(Secrets, secret);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    await mutate(store, Secrets, key, (old) => ({ ...old, data }));
  }
}

/** Deletes the Secret of a node that stops, so that no client waits for what no longer listens. */
export async function withdrawAccess(store: ObjectStore, nodeName: string): Promise<void> {
  await store.delete(Secrets, keyOf(nodeName)).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
}

/** Reads how to reach a node from its Secret. Undefined when there is no Secret, or a field of it is absent or malformed. */
export async function readAccess(store: ObjectStore, nodeName: string): Promise<NodeAccess | undefined> {
  const secret = await getIfAny(store, Secrets, keyOf(nodeName));
  const field = (name: string) => Buffer.from(secret?.data?.[name] ?? "", "base64").toString();
  const [host, port, ca, token] = [field("host"), Number(field("port")), field("ca"), field("token")];
  const complete = host !== "" && ca !== "" && token !== "" && Number.isInteger(port) && port > 0;
  return complete ? { host, port, ca, token } : undefined;
}

/** True when a client's bearer token is the expected one. Takes the same time for all tokens of the same length. */
export function isToken(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
