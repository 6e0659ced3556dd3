import { Client, credentials } from "@grpc/grpc-js";
import { serviceClient } from "../client/connect.ts";
import { SnapshotMetadata } from "../gen/snapshotmetadata/snapshotmetadata_pb.ts";
import type { ServiceClient } from "../wire/method-types.ts";

/** What backup programs call. */
export type SnapshotMetadataClient = ServiceClient<typeof SnapshotMetadata> & {
  /** Ends the connection; calls under way fail with UNAVAILABLE. */
  close(): void;
};

/** A client of the service at `address` (`host:port`), known by the certificates of `ca` (PEM). Close it when done. */
export function connectSnapshotMetadata(address: string, ca: string): SnapshotMetadataClient {
  const channel = new Client(address, credentials.createSsl(Buffer.from(ca)), { "grpc.enable_channelz": 0 });
  const calls = serviceClient(channel, SnapshotMetadata, {}) as ServiceClient<typeof SnapshotMetadata>;
  return { ...calls, close: () => channel.close() };
}
