import { timingSafeEqual } from "node:crypto";
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
  /** PEM of the authority that the node has made for itself at this start, and nobody else has the key of. */
  ca: string;
  /** Whoever has this bearer token was let into the API server's secrets. */
  token: string;
}

const NAMESPACE = "kube-system";
const keyOf = (nodeName: string) => ({ namespace: NAMESPACE, name: `mooring-node-logs-${nodeName}` });

/** Leaves it in a Secret, in place of what an earlier start left. */
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

/** Deletes the Secret of a node that stops, so that nobody waits for what no longer listens. */
export async function withdrawAccess(store: ObjectStore, nodeName: string): Promise<void> {
  await store.delete(Secrets, keyOf(nodeName)).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
}

/** Undefined when the node has left none, or something else. */
export async function readAccess(store: ObjectStore, nodeName: string): Promise<NodeAccess | undefined> {
  const secret = await getIfAny(store, Secrets, keyOf(nodeName));
  const field = (name: string) => Buffer.from(secret?.data?.[name] ?? "", "base64").toString();
  const [host, port, ca, token] = [field("host"), Number(field("port")), field("ca"), field("token")];
  const complete = host !== "" && ca !== "" && token !== "" && Number.isInteger(port) && port > 0;
  return complete ? { host, port, ca, token } : undefined;
}

/** In constant time for tokens of the same length. */
export function isToken(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
