import {
  isServed,
  type Pool,
  poolNodes,
  type Snapshot,
  TOPOLOGY_NODE_KEY,
  type Volume,
} from "@mooring/engine";
import type { DriverContext } from "../context.ts";
import { snapshotPlaces } from "./snapshot-places.ts";

/**
 * `Volume` of the specification. The context is empty: everything is found by the id. What is served over the network
 * is reached from everywhere, so it has no topology.
 */
export function volumeResponse(volume: Volume, pool: Pool | undefined) {
  const owner = volume.status?.ownerID ?? "";
  const nodes = pool === undefined ? [owner].filter((node) => node !== "") : poolNodes(pool);
  const { source } = volume.spec;
  return {
    volumeId: volume.metadata.name,
    capacityBytes: BigInt(volume.status?.size ?? volume.spec.size),
    volumeContext: {},
    ...(source === undefined ? {} : { contentSource: sourceResponse(source) }),
    accessibleTopology: (isServed(volume) ? [] : nodes).map((node) => ({
      segments: { [TOPOLOGY_NODE_KEY]: node },
    })),
  };
}

function sourceResponse(source: NonNullable<Volume["spec"]["source"]>) {
  return source.kind === "Snapshot"
    ? { type: { case: "snapshot" as const, value: { snapshotId: source.name } } }
    : { type: { case: "volume" as const, value: { volumeId: source.name } } };
}

/** `Snapshot` of the specification; only for snapshots that have been made. */
export function snapshotResponse(
  driver: Pick<DriverContext, "alone">,
  snapshot: Snapshot,
  pool: Pool | undefined,
) {
  const { creationTime = "", restoreSize = 0, readyToUse = false, ownerID } = snapshot.status ?? {};
  return {
    snapshotId: snapshot.metadata.name,
    sourceVolumeId: snapshot.spec.volume,
    sizeBytes: BigInt(restoreSize),
    readyToUse,
    creationTime: timestamp(creationTime),
    groupSnapshotId: snapshot.spec.group ?? "",
    accessibleTopology: snapshotPlaces(driver, pool, ownerID),
  };
}

/** `google.protobuf.Timestamp` of an RFC 3339 time. */
export function timestamp(time: string): { seconds: bigint; nanos: number } {
  const milliseconds = Date.parse(time);
  return { seconds: BigInt(Math.floor(milliseconds / 1000)), nanos: (milliseconds % 1000) * 1_000_000 };
}
