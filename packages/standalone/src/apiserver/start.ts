import type { Server } from "node:https";
import { join } from "node:path";
import type { MetricFamily } from "@mooring/csi";
import type { JsonStore, Logger } from "@mooring/store";
import { defined } from "@mooring/store";
import type { KindRegistry, OpenApiDocuments } from "../kinds/kind-info.ts";
import { writeKubeconfig } from "../pki/kubeconfig.ts";
import { ensurePki, isRenewalDue, type Pki, serverNames } from "../pki/pki.ts";
import type { Api, KubeletStreams } from "./api.ts";
import { tokenReader } from "./auth/authenticate.ts";
import { Authorizer } from "./auth/rbac.ts";
import { Revocation } from "./auth/revocation.ts";
import { ServiceAccountTokens } from "./auth/service-account.ts";
import { CLIENT_BOUNDS, type ClientBounds } from "./fairness/bounds.ts";
import { Buffers } from "./fairness/buffers.ts";
import { Connections } from "./fairness/connections.ts";
import { LastingRequests } from "./fairness/lasting.ts";
import { Turns } from "./fairness/turns.ts";
import { ParsePool } from "./http/parse/pool.ts";
import { createOpenApi } from "./openapi/documents.ts";
import { ensureDefaultNamespaces } from "./server/default-namespaces.ts";
import { ensureDefaultRoles } from "./server/default-roles.ts";
import { listen, secureContext } from "./server/listen.ts";
import { createMetrics, measureProcess } from "./server/metrics.ts";

/** The clock may be set at any time. */
const RENEW_CHECK_MS = 10_000;
const REQUEST_MS = 60_000;
/** How long responses that have begun may take to end once the server stops. */
const GRACE_MS = 1_000;

/** What an API server is started with. */
export interface ApiServerOptions {
  store: JsonStore;
  kinds: KindRegistry;
  /** `host:port`; port 0 takes a free one. */
  listen: string;
  /** Certificates and the token go to `pki/` in it, the kubeconfig beside that. */
  stateDir: string;
  logger: Logger;
  /** Stops the server. */
  signal: AbortSignal;
  kubelet?: KubeletStreams;
  /** More for `/metrics`. */
  metrics?: () => MetricFamily[] | Promise<MetricFamily[]>;
  /** In place of that and of what this thread measures of its process. */
  measure?: () => Promise<MetricFamily[]>;
  /** Default: the documents of `kinds`. */
  openapi?: OpenApiDocuments;
  /** Milliseconds that a request may take with its response; default: a minute, as in Kubernetes. */
  requestMs?: number;
  /** Default: {@link CLIENT_BOUNDS}. */
  bounds?: ClientBounds;
}

/** An API server that serves. */
export interface ApiServer {
  /** `https://127.0.0.1:6443` */
  url: string;
  caPem: string;
  /** Bearer token of the administrator. */
  token: string;
  /** Path of the kubeconfig. */
  kubeconfig: string;
  /** Signs tokens for service accounts. */
  tokens: ServiceAccountTokens;
  /** Settles when the server has stopped and closed its port. */
  done: Promise<void>;
}

/** Serves the Kubernetes API; resolves when it listens, the default namespaces exist and the kubeconfig is written. */
export async function startApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const { store, stateDir, logger, signal } = options;
  const at = parseListen(options.listen);
  const folder = join(stateDir, "pki");
  const names = serverNames(at.host);
  const pki = await ensurePki(folder, names);
  await ensureDefaultNamespaces(store);
  await ensureDefaultRoles(store);
  const { measure, stop: stopMeasuring } =
    options.measure === undefined
      ? measureProcess(options.metrics)
      : { measure: options.measure, stop: () => {} };
  const tokens = await ServiceAccountTokens.open(store, join(folder, "service-accounts.key"));
  const parser = new ParsePool();
  const api = assemble(options, { pki, tokens, parser, metrics: createMetrics(measure) });
  const { server, address } = await listen(api, pki, at);
  const url = `https://${reachable(at.host)}:${address.port}`;
  const kubeconfig = join(stateDir, "kubeconfig");
  await writeKubeconfig(kubeconfig, { url, caPem: pki.caPem, token: pki.token });
  const renewal = renewInTime(pki, () => ensurePki(folder, names), server, logger);
  const done = new Promise<void>((resolve) => {
    const stop = () => {
      clearInterval(renewal);
      stopMeasuring();
      void parser.close();
      closeServer(server, resolve);
    };
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
  logger.info({ url }, "The API server listens");
  return { url, caPem: pki.caPem, token: pki.token, kubeconfig, tokens, done };
}

/** What its requests are served with. */
function assemble(
  options: ApiServerOptions,
  made: { pki: Pki; tokens: ServiceAccountTokens; parser: ParsePool; metrics: Api["metrics"] },
): Api {
  const { store, kinds, logger, signal, kubelet, requestMs = REQUEST_MS, bounds = CLIENT_BOUNDS } = options;
  const { pki, tokens, parser, metrics } = made;
  return {
    store,
    kinds,
    logger,
    signal,
    metrics,
    parser,
    turns: new Turns(),
    buffers: new Buffers(),
    connections: new Connections(bounds.connections),
    lasting: new LastingRequests(bounds.lasting),
    requestMs,
    authority: pki.authority,
    tokens,
    readToken: tokenReader(pki.token, tokens),
    authorizer: new Authorizer(store),
    revocation: new Revocation({ store, logger, signal }),
    openapi: options.openapi ?? createOpenApi(kinds),
    ...defined({ kubelet }),
  };
}

/** The server takes a new certificate before its own one runs out, until the timer is cleared. */
function renewInTime(pki: Pki, renew: () => Promise<Pki>, server: Server, logger: Logger): NodeJS.Timeout {
  let shown = pki;
  const renewal = setInterval(() => {
    if (!isRenewalDue(shown)) return;
    renew().then(
      (current) => {
        shown = current;
        server.setSecureContext(secureContext(current));
      },
      (error: unknown) => logger.error({ err: error }, "The server certificate could not be renewed"),
    );
  }, RENEW_CHECK_MS);
  renewal.unref();
  return renewal;
}

function closeServer(server: Server, closed: () => void): void {
  // Connections become idle one by one, as the watches on them end.
  const closing = setInterval(() => server.closeIdleConnections(), 20);
  const force = setTimeout(() => server.closeAllConnections(), GRACE_MS);
  server.close(() => {
    clearInterval(closing);
    clearTimeout(force);
    closed();
  });
}

/** `127.0.0.1:6443`, `[::1]:6443`, `:6443`. Throws a RangeError. */
function parseListen(text: string): { host: string; port: number } {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65535) throw new RangeError(`"${text}" is not an address like 127.0.0.1:6443`);
  return { host: match[1] || match[2] || "127.0.0.1", port };
}

/** Where clients on this machine reach a server that listens on `host`. */
function reachable(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  if (host === "::") return "[::1]";
  return host.includes(":") ? `[${host}]` : host;
}
