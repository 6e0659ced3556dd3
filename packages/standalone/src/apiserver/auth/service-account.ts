import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
  sign,
  verify,
} from "node:crypto";
import { readFile } from "node:fs/promises";
import {
  defined,
  isNotFound,
  type KubeObject,
  type LocalStore,
  Nodes,
  Pods,
  type Resource,
  Secrets,
  ServiceAccounts,
} from "@mooring/store";
import type { User } from "../http/call.ts";
import { writePrivateFile } from "../pki/private-file.ts";

const LEEWAY_MS = 60_000;
const ISSUER = "https://kubernetes.default.svc.cluster.local";

interface Reference {
  name: string;
  uid: string;
}

/** What a token says; times in seconds since the epoch. */
interface Claims {
  iss: string;
  sub: string;
  aud: string[];
  exp: number;
  iat: number;
  nbf: number;
  jti: string;
  "kubernetes.io": {
    namespace: string;
    serviceaccount: Reference;
    pod?: Reference;
    secret?: Reference;
    node?: Reference;
  };
}

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

const encode = (value: object | Buffer) =>
  (Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value))).toString("base64url");

/** Issues and reads tokens of service accounts (JWT, ES256). */
export class ServiceAccountTokens {
  readonly #store: LocalStore;
  readonly #key: KeyObject;
  readonly #publicKey: KeyObject;

  private constructor(store: LocalStore, key: KeyObject) {
    this.#store = store;
    this.#key = key;
    this.#publicKey = createPublicKey(key);
  }

  /** `path` of the signing key, which is made on first use. */
  static async open(store: LocalStore, path: string): Promise<ServiceAccountTokens> {
    let pem = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw error;
    });
    if (pem === undefined) {
      const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
      pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
      await writePrivateFile(path, pem);
    }
    return new ServiceAccountTokens(store, createPrivateKey(pem));
  }

  /** Whom a token is for that asks for these; nobody named means this server. */
  audiencesOf(asked: readonly string[]): string[] {
    return asked.length === 0 ? [ISSUER] : [...asked];
  }

  issue(
    { namespace, account, audiences, seconds, boundTo }: TokenOrder,
    now: Date,
  ): { token: string; expires: Date } {
    const at = Math.floor(now.getTime() / 1000);
    const { kind, ...reference } = boundTo ?? { kind: undefined };
    const claims: Claims = {
      iss: ISSUER,
      sub: `system:serviceaccount:${namespace}:${account.name}`,
      aud: this.audiencesOf(audiences),
      exp: at + seconds,
      iat: at,
      nbf: at,
      jti: randomUUID(),
      "kubernetes.io": {
        namespace,
        serviceaccount: account,
        ...(kind === undefined ? {} : { [kind.toLowerCase()]: reference }),
      },
    };
    const content = `${encode({ alg: "ES256", typ: "JWT" })}.${encode(claims)}`;
    const signature = sign("sha256", Buffer.from(content), { key: this.#key, dsaEncoding: "ieee-p1363" });
    return { token: `${content}.${encode(signature)}`, expires: new Date((at + seconds) * 1000) };
  }

  /** The service account behind a token for one of these audiences; undefined when it is not valid (any more). */
  read(token: string, now: Date, audiences: readonly string[] = [ISSUER]): User | undefined {
    const claims = this.#verified(token);
    const at = now.getTime() / 1000;
    if (claims === undefined || claims.exp <= at || claims.nbf > at + 1) return undefined;
    if (!claims.aud.some((audience) => audiences.includes(audience))) return undefined;
    const { namespace, serviceaccount, pod, secret, node } = claims["kubernetes.io"];
    const here = { namespace, at: now.getTime() };
    const alive =
      this.#exists(ServiceAccounts, here, serviceaccount) &&
      (pod === undefined || this.#exists(Pods, here, pod)) &&
      (secret === undefined || this.#exists(Secrets, here, secret)) &&
      (node === undefined || this.#exists(Nodes, { at: here.at }, node));
    return alive ? serviceAccountUser(namespace, serviceaccount.name, serviceaccount.uid) : undefined;
  }

  #verified(token: string): Claims | undefined {
    const [header = "", body = "", signature = "", ...rest] = token.split(".");
    if (rest.length > 0 || signature === "") return undefined;
    try {
      const key = { key: this.#publicKey, dsaEncoding: "ieee-p1363" } as const;
      const { alg } = JSON.parse(Buffer.from(header, "base64url").toString()) as { alg?: unknown };
      const signed = Buffer.from(`${header}.${body}`);
      if (alg !== "ES256" || !verify("sha256", signed, key, Buffer.from(signature, "base64url")))
        return undefined;
      return JSON.parse(Buffer.from(body, "base64url").toString()) as Claims;
    } catch {
      return undefined;
    }
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
