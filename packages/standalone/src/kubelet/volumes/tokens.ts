import { isNotFound, type ObjectStore, type Pod, ServiceAccounts } from "@mooring/store";

/** A token that is to be made; it dies with the pod. */
export interface TokenOrder {
  namespace: string;
  account: { name: string; uid: string };
  audiences: readonly string[];
  seconds: number;
  boundTo: { kind: "Pod"; name: string; uid: string };
}

interface IssuedToken {
  token: string;
  expires: Date;
}

/** The signer of tokens: the API server. */
export type IssueToken = (order: TokenOrder, now: Date) => IssuedToken | Promise<IssuedToken>;

/** What a projected volume, or a driver, asks of a token. */
interface Wish {
  audience?: string;
  expirationSeconds?: number;
}

interface PodTokensOptions {
  store: ObjectStore;
  /** Absent: this kubelet has no signer. */
  issue?: IssueToken | undefined;
  /** The pod's tokens are to be read again. */
  due: (podUID: string) => void;
}

interface CachedToken extends IssuedToken {
  renewAt: number;
  timer: NodeJS.Timeout;
}

const DEFAULT_SECONDS = 3600;
/** Renewed when so much of its time is over, as the kubelet does; and after a day at the latest. */
const RENEW_FRACTION = 0.8;
const LONGEST_MS = 24 * 3600 * 1000;

/** Service account tokens of the pods here, each kept until it is time for a new one. */
export class PodTokens {
  readonly #options: PodTokensOptions;
  readonly #cached = new Map<string, Map<string, CachedToken>>();

  constructor(options: PodTokensOptions) {
    this.#options = options;
  }

  async get(pod: Pod, wish: Wish): Promise<string> {
    return (await this.issued(pod, wish)).token;
  }

  /** The token, and until when it is good. */
  async issued(pod: Pod, { audience, expirationSeconds = DEFAULT_SECONDS }: Wish): Promise<IssuedToken> {
    const { uid = "" } = pod.metadata;
    const own = this.#cached.get(uid) ?? new Map<string, CachedToken>();
    this.#cached.set(uid, own);
    const key = `${expirationSeconds} ${audience ?? ""}`;
    const present = own.get(key);
    if (present !== undefined && present.renewAt > Date.now()) return present;
    clearTimeout(present?.timer);
    const issued = await this.#issue(pod, audience, expirationSeconds);
    own.set(key, issued);
    return issued;
  }

  /** The pod is gone. */
  forget(podUID: string): void {
    for (const { timer } of this.#cached.get(podUID)?.values() ?? []) clearTimeout(timer);
    this.#cached.delete(podUID);
  }

  async #issue({ metadata, spec }: Pod, audience: string | undefined, seconds: number): Promise<CachedToken> {
    const { issue, store, due } = this.#options;
    if (issue === undefined)
      throw new Error("this kubelet has no API server that signs service account tokens");
    const { namespace = "", name, uid = "" } = metadata;
    const key = { namespace, name: spec?.serviceAccountName || "default" };
    const account = await store.get(ServiceAccounts, key).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
      throw new Error(`serviceaccount "${key.name}" not found`);
    });
    const now = new Date();
    const { token, expires } = await issue(
      {
        namespace,
        account: { name: key.name, uid: account.metadata.uid ?? "" },
        audiences: audience === undefined ? [] : [audience],
        seconds,
        boundTo: { kind: "Pod", name, uid },
      },
      now,
    );
    const lastsMs = Math.min((expires.getTime() - now.getTime()) * RENEW_FRACTION, LONGEST_MS);
    return {
      token,
      expires,
      renewAt: now.getTime() + lastsMs,
      timer: setTimeout(() => due(uid), lastsMs + 1).unref(),
    };
  }
}
