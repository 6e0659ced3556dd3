import { readFile } from "node:fs/promises";
import { type CertifiedKey, connect, type SnapshotMetadataServer, serveSnapshotMetadata } from "@mooring/csi";
import { SnapshotMetadataHandlers } from "@mooring/sidecars";
import { defined, type ObjectStore } from "@mooring/store";
import type { Logger } from "pino";
import { listenAddress } from "../options/listen-address.ts";
import type { SnapshotMetadataSettings } from "../options/snapshot-metadata-options.ts";
import { CommandError } from "../output/command-error.ts";
import { listenFailure } from "./listen-failure.ts";
import type { MetricsEndpoint } from "./metrics-server.ts";

const OPTION = "--snapshot-metadata-listen";
/** Between two checks whether the certificate has changed, in milliseconds: a Secret that is mounted changes without a sign. */
const RENEW_MS = 30_000;

/** The cluster and the driver that it is about. */
interface Around {
  store: ObjectStore;
  /** The driver's socket. */
  endpoint: string;
  logger: Logger;
}

/** Serves block maps of the driver's snapshots, whoever leads: every replica may be called. Throws CommandError. */
export async function startSnapshotMetadataServer(
  settings: SnapshotMetadataSettings,
  { store, endpoint, logger }: Around,
): Promise<MetricsEndpoint> {
  const { address, audience, maxStreamMs } = settings;
  const listening = listenAddress(OPTION, address, "0.0.0.0:50051");
  const tls = await readPair(settings);
  const driver = await connect(endpoint);
  const handlers = new SnapshotMetadataHandlers({
    store,
    driver,
    maxStreamMs,
    logger,
    ...defined({ audience }),
  });
  let server: SnapshotMetadataServer;
  try {
    server = await serveSnapshotMetadata(handlers, { ...listening, tls, logger });
  } catch (error) {
    driver.close();
    throw listenFailure(OPTION, address, error);
  }
  logger.info({ host: listening.host, port: server.port }, "serving block maps of snapshots");
  const renewing = keepRenewing(settings, { server, tls, logger });
  return {
    async close() {
      clearInterval(renewing);
      await server.close();
      driver.close();
    },
  };
}

async function readPair({ certFile, keyFile }: SnapshotMetadataSettings): Promise<CertifiedKey> {
  const read = (file: string) =>
    readFile(file, "utf8").catch((cause: Error) => {
      throw new CommandError(`cannot read ${file}: ${cause.message}`, {
        next: "name files in PEM for --snapshot-metadata-tls-cert and --snapshot-metadata-tls-key",
        cause,
      });
    });
  return { cert: await read(certFile), key: await read(keyFile) };
}

interface Renewed {
  server: SnapshotMetadataServer;
  tls: CertifiedKey;
  logger: Logger;
}

/** A certificate that cannot be used is logged, and the one before it stays. */
function keepRenewing(settings: SnapshotMetadataSettings, { server, tls, logger }: Renewed): NodeJS.Timeout {
  let last = tls;
  const renew = async () => {
    const now = await readPair(settings);
    if (now.cert === last.cert && now.key === last.key) return;
    last = now;
    server.setCertificate(now);
    logger.info({}, "the certificate of the service of block maps has changed");
  };
  const failed = (error: Error) => logger.error({ error: error.message }, "cannot take the new certificate");
  return setInterval(() => void renew().catch(failed), RENEW_MS).unref();
}
