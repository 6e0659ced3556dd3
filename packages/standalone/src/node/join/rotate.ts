import { delay, kubeconfigAccess, type Logger, type RestStore } from "@mooring/store";
import { certificateOf, nodeKubeconfig } from "./credential.ts";
import { renewCredential } from "./join.ts";

const CHECK_MS = 3600_000;

interface RotationOptions {
  store: Pick<RestStore, "useTls">;
  stateDir: string;
  logger: Logger;
  signal: AbortSignal;
  checkMs?: number;
  /** Milliseconds since the epoch; default `Date.now`. */
  clock?: () => number;
}

/** Renews the node's certificate when a third of its life is over, and checks again every hour. */
export async function rotateCredential(options: RotationOptions): Promise<void> {
  const { logger, signal, checkMs = CHECK_MS } = options;
  while (!signal.aborted) {
    await renewIfDue(options).catch((error: unknown) => {
      logger.error({ err: error }, "the certificate of this node could not be renewed; it is tried again");
    });
    await delay(checkMs, signal).catch(() => {});
  }
}

/** True when it has a new one. */
export async function renewIfDue({
  store,
  stateDir,
  logger,
  clock = Date.now,
}: RotationOptions): Promise<boolean> {
  const path = nodeKubeconfig(stateDir);
  const certificate = await certificateOf(path);
  if (certificate === undefined) return false;
  const { from, until, nodeName } = certificate;
  if (clock() < from.getTime() + (until.getTime() - from.getTime()) / 3) return false;
  const { server, tls } = await kubeconfigAccess(path);
  const { ca = "", cert = "", key = "" } = tls;
  const next = await renewCredential({ server, nodeName }, { ca, certificate: cert, key }, stateDir);
  store.useTls({ ca: next.ca, cert: next.certificate, key: next.key });
  logger.info({ node: nodeName }, "this node has a new certificate");
  return true;
}
