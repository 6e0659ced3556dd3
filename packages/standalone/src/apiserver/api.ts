import type { Socket } from "node:net";
import type { JsonStore, Logger, Pod } from "@mooring/store";
import type { KindRegistry, OpenApiDocuments } from "../kinds/kind-info.ts";
import type { ExecRequest, ForwardRequest } from "../kubelet/index.ts";
import type { Relay } from "../node-streams/relay.ts";
import type { KeyPair } from "../pki/issue.ts";
import type { ExecSession } from "../runtime/index.ts";
import type { TokenReader } from "./auth/authenticate.ts";
import type { Authorizer } from "./auth/rbac.ts";
import type { Revocation } from "./auth/revocation.ts";
import type { ServiceAccountTokens } from "./auth/service-account.ts";
import type { Buffers } from "./fairness/buffers.ts";
import type { Connections } from "./fairness/connections.ts";
import type { LastingRequests } from "./fairness/lasting.ts";
import type { Turns } from "./fairness/turns.ts";
import type { ParsePool } from "./http/parse/pool.ts";

/** What `kubectl logs` asks for, as in core/v1 PodLogOptions. */
export interface LogRequest {
  namespace: string;
  pod: string;
  /** Empty: the only container, or the one the pod's default-container annotation names. */
  container?: string;
  follow: boolean;
  previous: boolean;
  timestamps: boolean;
  tailLines?: number;
  limitBytes?: number;
  sinceSeconds?: number;
  /** RFC 3339. */
  sinceTime?: string;
  signal: AbortSignal;
}

/** What the API server needs of the kubelet. */
export interface KubeletStreams {
  /** The log in chunks of text or bytes. Throws a StatusError before the first chunk when there is no such log. */
  logs(request: LogRequest): AsyncIterable<string | Uint8Array>;
  /** Starts a program in a container. Throws a StatusError when the container does not run. */
  exec(request: ExecRequest): Promise<ExecSession>;
  /** Connects to a port on which a program of the pod listens. Throws a StatusError when none does. */
  forward(request: ForwardRequest): Promise<Socket>;
  /** How connections are handed on to the pod's node; undefined: that is this one. Throws a StatusError when it is away. */
  elsewhere(pod: Pod): Promise<Relay | undefined>;
}

/** Counts responses for `/metrics`. */
export interface RequestMetrics {
  count(method: string, code: number): void;
  /** In the text format of Prometheus. */
  text(): Promise<string>;
}

/** What every handler works with. */
export interface Api {
  store: JsonStore;
  kinds: KindRegistry;
  logger: Logger;
  kubelet?: KubeletStreams;
  openapi: OpenApiDocuments;
  readToken: TokenReader;
  tokens: ServiceAccountTokens;
  authorizer: Authorizer;
  /** Ends requests that last. */
  revocation: Revocation;
  metrics: RequestMetrics;
  /** Signs the certificates of nodes. */
  authority: KeyPair;
  /** Who is worked for next. */
  turns: Turns;
  /** What is kept for clients that are slow. */
  buffers: Buffers;
  /** Who is connected. */
  connections: Connections;
  /** Watches, logs and streams. */
  lasting: LastingRequests;
  /** Milliseconds from the headers of a request to the end of its response. */
  requestMs: number;
  /** Reads large bodies. */
  parser: ParsePool;
  /** Aborts when the server stops: watches end. */
  signal: AbortSignal;
}
