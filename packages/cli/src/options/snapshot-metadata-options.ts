import { type Command, Option } from "commander";
import { CommandError } from "../output/command-error.ts";
import { duration } from "./duration.ts";

/** The service of block maps for backup programs; what external-snapshot-metadata has under other names. */
export interface SnapshotMetadataFlags {
  snapshotMetadataListen?: string;
  snapshotMetadataTlsCert?: string;
  snapshotMetadataTlsKey?: string;
  snapshotMetadataAudience?: string;
  /** Milliseconds. */
  snapshotMetadataMaxStream: number;
}

/** Where it listens and what it shows. */
export interface SnapshotMetadataSettings {
  address: string;
  certFile: string;
  keyFile: string;
  audience: string | undefined;
  /** Milliseconds. */
  maxStreamMs: number;
}

/** Adds them to a command. */
export function withSnapshotMetadataFlags(command: Command): Command {
  return command
    .option(
      "--snapshot-metadata-listen <address>",
      "serve block maps of snapshots to backup programs there; off unless given",
    )
    .option(
      "--snapshot-metadata-tls-cert <file>",
      "its certificate, PEM with its chain; read anew when it changes",
    )
    .option("--snapshot-metadata-tls-key <file>", "the certificate's key")
    .option(
      "--snapshot-metadata-audience <text>",
      "what tokens have to be for (default: what the driver's SnapshotMetadataService says)",
    )
    .addOption(
      new Option("--snapshot-metadata-max-stream <time>", "the longest time that one stream may take")
        .argParser(duration)
        .default(600_000, "10m"),
    );
}

/** Undefined when the service is not asked for. Throws for what does not fit together. */
export function snapshotMetadataSettings(
  flags: SnapshotMetadataFlags,
  drivers: number,
): SnapshotMetadataSettings | undefined {
  const { snapshotMetadataListen: address, snapshotMetadataTlsCert: certFile } = flags;
  const { snapshotMetadataTlsKey: keyFile, snapshotMetadataAudience: audience } = flags;
  if (address === undefined) {
    if (certFile === undefined && keyFile === undefined && audience === undefined) return undefined;
    throw new CommandError("what is said of the service of block maps has no --snapshot-metadata-listen", {
      next: "say where it has to listen: --snapshot-metadata-listen 0.0.0.0:50051",
    });
  }
  if (certFile === undefined || keyFile === undefined)
    throw new CommandError("tokens are sent to the service of block maps, so it needs a certificate", {
      next: "give --snapshot-metadata-tls-cert and --snapshot-metadata-tls-key",
    });
  if (drivers !== 1)
    throw new CommandError("the service of block maps is for one driver at --csi-address", {
      next: "run a `mooring controller --controllers health` of its own for it beside each driver that has block maps",
    });
  return { address, certFile, keyFile, audience, maxStreamMs: flags.snapshotMetadataMaxStream };
}
