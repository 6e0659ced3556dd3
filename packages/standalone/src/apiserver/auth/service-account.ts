import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
} from "node:crypto";
import { readFile } from "node:fs/promises";
import {
  defined,
  isNotFound,
  type JsonStore,
  type KubeObject,
  Nodes,
  Pods,
  type Resource,
  Secrets,
  ServiceAccounts,
} from "@mooring/store";
import { decodeJwt, jwtVerify, SignJWT } from "jose";
import { KeyFileError } from "../../pki/key-file-error.ts";
import { writePrivateFile } from "../../pki/private-file.ts";
import type { User } from "../http/call.ts";
import type { Ground } from "./revocation.ts";

const LEEWAY_MS = 60_000;
const ISSUER = "https://kubernetes.default.svc.cluster.local";

interface Reference {
  name: string;
  uid: string;
}

const ALGORITHM = "ES256";

/** What a token has beside the registered claims (RFC 7519, 4.1). */
interface Claims {
  "kubernetes.io": {
    namespace: string;
    serviceaccount: Reference;
    pod?: Reference;
    secret?: Reference;
    node?: Reference;
  };
}

/** A token that a client asks for. */
export interface TokenOrder {
  namespace: string;
  account: Reference;
  audiences: readonly string[];
  seconds: number;
  /** The token dies with this object. */
  boundTo?: { kind: "Pod" | "Secret" | "Node" } & Reference;
}

/** The user that a service account is. */
export function serviceAccountUser(namespace: string, name: string, uid?: string): User {
  return {
    username: `system:serviceaccount:${namespace}:${name}`,
    groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"],
    ...defined({ uid }),
  };
}

/** Issues and reads tokens of service accounts (JWT, ES256). */
export class ServiceAccountTokens {
  readonly #store: JsonStore;
  readonly #key: KeyObject;
  readonly #publicKey: KeyObject;

  private constructor(store: JsonStore, key: KeyObject) {
    this.#store = store;
    this.#key = key;
    this.#publicKey = createPublicKey(key);
  }

  /** `path` of the signing key, which is made on first use. */
  static async open(store: JsonStore, path: string): Promise<ServiceAccountTokens> {
    let pem = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw error;
    });
    if (pem === undefined) {
      const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
      pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
      await writePrivateFile(path, pem);
    }
    return new ServiceAccountTokens(store, keyOf(path, pem));
  }

  /** Whom a token is for that asks for these; none named means this server. */
  audiencesOf(asked: readonly string[]): string[] {
    return asked.length === 0 ? [ISSUER] : [...asked];
  }

  async issue(
    { namespace, account, audiences, seconds, boundTo }: TokenOrder,
    now: Date,
  ): Promise<{ token: string; expires: Date }> {
    const at = Math.floor(now.getTime() / 1000);
    const { kind, ...reference } = boundTo ?? { kind: undefined };
    const bound = kind === undefined ? {} : { [kind.toLowerCase()]: reference };
    const token = await new SignJWT({ "kubernetes.io": { namespace, serviceaccount: account, ...bound } })
      .setProtectedHeader({ alg: ALGORITHM, typ: "JWT" })
      .setIssuer(ISSUER)
      .setSubject(`system:serviceaccount:${namespace}:${account.name}`)
      .setAudience(this.audiencesOf(audiences))
      .setIssuedAt(at)
      .setNotBefore(at)
      .setExpirationTime(at + seconds)
      .setJti(randomUUID())
      .sign(this.#key);
    return { token, expires: new Date((at + seconds) * 1000) };
  }

  /** The service account behind a token for one of these audiences; undefined when it is not valid (any more). */
  async read(token: string, now: Date, audiences: readonly string[] = [ISSUER]): Promise<User | undefined> {
    const claims = await this.#verified(token, now, audiences);
    if (claims === undefined) return undefined;
    const { namespace, serviceaccount, pod, secret, node } = claims["kubernetes.io"];
    const here = { namespace, at: now.getTime() };
    const alive =
      this.#exists(ServiceAccounts, here, serviceaccount) &&
      (pod === undefined || this.#exists(Pods, here, pod)) &&
      (secret === undefined || this.#exists(Secrets, here, secret)) &&
      (node === undefined || this.#exists(Nodes, { at: here.at }, node));
    return alive ? serviceAccountUser(namespace, serviceaccount.name, serviceaccount.uid) : undefined;
  }

  /** What a token that was read lives by. */
  groundsOf(token: string): Ground[] {
    const { namespace, serviceaccount, pod, secret, node } = decodeJwt<Claims>(token)["kubernetes.io"];
    const inNamespace = (resource: Resource, of: Reference | undefined): Ground[] =>
      of === undefined ? [] : [{ resource, key: { namespace, name: of.name } }];
    return [
      ...inNamespace(ServiceAccounts, serviceaccount),
      ...inNamespace(Pods, pod),
      ...inNamespace(Secrets, secret),
      ...(node === undefined ? [] : [{ resource: Nodes, key: { name: node.name } }]),
    ];
  }

  /** Undefined for what is no token of ours, for others, or not valid at this time. */
  async #verified(token: string, now: Date, audiences: readonly string[]): Promise<Claims | undefined> {
    const expected = { issuer: ISSUER, audience: [...audiences], algorithms: [ALGORITHM] };
    const times = { currentDate: now, requiredClaims: ["exp", "nbf"] };
    return jwtVerify<Claims>(token, this.#publicKey, { ...expected, ...times }).then(
      ({ payload }) => payload,
      () => undefined,
    );
  }

  /** A pod that is ending still works for as long as it was given, and a minute more. */
  #exists(
    resource: Resource,
    { namespace, at }: { namespace?: string; at: number },
    { name, uid }: Reference,
  ): boolean {
    try {
      const key = namespace === undefined ? { name } : { namespace, name };
      const { metadata } = JSON.parse(this.#store.getJson(resource, key)) as KubeObject;
      const { deletionTimestamp: ends } = metadata;
      return metadata.uid === uid && (ends === undefined || at < Date.parse(ends) + LEEWAY_MS);
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }
}

/** Tokens that were signed with a lost key are good no more, so another is not made without being asked for. */
function keyOf(path: string, pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    throw new KeyFileError(
      `${path} is not the key that was written: the tokens of service accounts are signed with it`,
      "put it back from a copy of the state folder; without one remove it: another is made then, and pods get new tokens when they are started again",
    );
  }
}
