/** How to reach an API server and who we are to it. */
export interface ClusterAccess {
  /** `https://host:port`, possibly with a path; `http:` for proxies and tests. */
  server: string;
  tls: TlsAccess;
  /** The namespace that tools use by default. */
  namespace: string;
  /** Where all this comes from, for messages: the path of a kubeconfig. */
  source?: string;
  /** Value of the Authorization header; `refresh`: the last one was refused, read it again. */
  authorization?(refresh: boolean): Promise<string | undefined>;
}

/** Certificates of a connection, in PEM. */
export interface TlsAccess {
  /** PEM. */
  ca?: string;
  cert?: string;
  key?: string;
  /** Name to verify the server's certificate against, when it is not the host's. */
  servername?: string;
  /** Only where the kubeconfig says `insecure-skip-tls-verify`. */
  rejectUnauthorized?: boolean;
}

/** The configuration does not say how to reach a cluster; the message names what to change. */
export class AccessError extends Error {
  override readonly name = "AccessError";
  /** The system's code when the kubeconfig itself cannot be read: `ENOENT`, `EACCES`. */
  readonly code: string | undefined;

  constructor(message: string, code?: string) {
    super(message);
    this.code = code;
  }
}
