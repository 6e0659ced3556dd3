import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import {
  apiVersionOf,
  getIfAny,
  isConflict,
  isNotFound,
  type ObjectStore,
  type Secret,
  Secrets,
} from "@mooring/store";

const NAMESPACE = "kube-system";
const PREFIX = "mooring-join-";
const TYPE = "storage.mooring.dev/join-token";
const FORM = /^([a-z0-9]{10})\.([A-Za-z0-9_-]{32})\.([0-9a-f]{64})$/;

/** A join token as a machine is given it. */
interface JoinToken {
  id: string;
  secret: string;
  /** SHA-256 of the server's authority (DER), in hex: the machine verifies by it whom it talks to. */
  authority: string;
}

/** Undefined: it is none. */
export function readJoinToken(text: string): JoinToken | undefined {
  const [, id, secret, authority] = FORM.exec(text.trim()) ?? [];
  return id === undefined || secret === undefined || authority === undefined
    ? undefined
    : { id, secret, authority };
}

const hash = (text: string) => createHash("sha256").update(text).digest("hex");
const encoded = (text: string) => Buffer.from(text).toString("base64");
const decoded = (text: string | undefined) => Buffer.from(text ?? "", "base64").toString();
const keyOf = (id: string) => ({ namespace: NAMESPACE, name: PREFIX + id });

/**
 * Makes a token with which one machine may join once, before `expires`; under any name, or under `nodeName` only. The
 * server keeps its hash, so that a user who reads secrets cannot use it. Tokens that are too old are taken away.
 */
export async function createJoinToken(
  store: ObjectStore,
  { authority, expires, nodeName }: { authority: string; expires: Date; nodeName?: string },
): Promise<string> {
  const id = randomBytes(5).toString("hex");
  const secret = randomBytes(24).toString("base64url");
  const data = {
    hash: encoded(hash(secret)),
    expires: encoded(expires.toISOString()),
    ...(nodeName === undefined ? {} : { node: encoded(nodeName) }),
  };
  const object: Secret = {
    apiVersion: apiVersionOf(Secrets),
    kind: "Secret",
    metadata: keyOf(id),
    type: TYPE,
    data,
  };
  await removeExpired(store, new Date());
  await store.create(Secrets, object);
  return `${id}.${secret}.${authority}`;
}

async function removeExpired(store: ObjectStore, now: Date): Promise<void> {
  const { items } = await store.list<Secret>(Secrets, { namespace: NAMESPACE });
  for (const { data, metadata, type } of items) {
    if (type !== TYPE || lasts(data, now)) continue;
    const { name, uid = "" } = metadata;
    await store.delete(Secrets, { namespace: NAMESPACE, name }, { preconditions: { uid } }).catch((error) => {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    });
  }
}

const lasts = (data: Secret["data"], now: Date) => Date.parse(decoded(data?.expires)) > now.getTime();

/** True when a token is good for that node and is not too old. It stays. */
export async function isJoinToken(
  store: ObjectStore,
  token: Pick<JoinToken, "id" | "secret">,
  nodeName: string,
  now: Date,
): Promise<boolean> {
  return (await goodToken(store, token, nodeName, now)) !== undefined;
}

/** Takes a token away for good. True for the one caller who had it, when it was good for that node and is not too old. */
export async function redeemJoinToken(
  store: ObjectStore,
  token: Pick<JoinToken, "id" | "secret">,
  nodeName: string,
  now: Date,
): Promise<boolean> {
  const good = await goodToken(store, token, nodeName, now);
  if (good === undefined) return false;
  const { uid = "" } = good.metadata;
  try {
    // Of two that come with it at once, one finds it gone.
    await store.delete(Secrets, keyOf(token.id), { preconditions: { uid } });
    return true;
  } catch (error) {
    if (isNotFound(error) || isConflict(error)) return false;
    throw error;
  }
}

async function goodToken(
  store: ObjectStore,
  { id, secret }: Pick<JoinToken, "id" | "secret">,
  nodeName: string,
  now: Date,
): Promise<Secret | undefined> {
  const found = await getIfAny<Secret>(store, Secrets, keyOf(id));
  if (found === undefined) return undefined;
  const { type, data } = found;
  const matches = timingSafeEqual(Buffer.from(hash(decoded(data?.hash))), Buffer.from(hash(hash(secret))));
  const fits = data?.node === undefined || decoded(data.node) === nodeName;
  return matches && fits && lasts(data, now) && type === TYPE ? found : undefined;
}
