import type { CsiClient } from "@mooring/csi";
import type { DriverInfo } from "../csi/driver-info.ts";
import type { CutArguments, CutSnapshot } from "./decide.ts";

interface CallOptions {
  signal: AbortSignal;
  timeoutMs: number;
}

interface WireSnapshot {
  snapshotId: string;
  sizeBytes: bigint;
  readyToUse: boolean;
  creationTime?: { seconds: bigint; nanos: number } | undefined;
}

/** Nanoseconds. A driver that gives no time means "now"; the first second of 1970 is no time either. */
function nanoseconds(time: WireSnapshot["creationTime"], nowMs: number): number {
  if (time === undefined || (time.seconds === 0n && time.nanos === 0)) return nowMs * 1e6;
  return Number(time.seconds * 1_000_000_000n + BigInt(time.nanos));
}

function toCut(
  { snapshotId, sizeBytes, readyToUse, creationTime }: WireSnapshot,
  nowMs: number,
): CutSnapshot {
  return {
    handle: snapshotId,
    ready: readyToUse,
    creationTime: nanoseconds(creationTime, nowMs),
    sizeBytes: Number(sizeBytes),
  };
}

export async function createSnapshot(
  client: CsiClient,
  { secret: _secret, ...wanted }: CutArguments,
  secrets: Record<string, string>,
  nowMs: number,
  options: CallOptions,
): Promise<CutSnapshot> {
  const { snapshot } = await client.controller.createSnapshot({ ...wanted, secrets }, options);
  if (!snapshot?.snapshotId) throw new Error("the driver answered CreateSnapshot without a snapshot id");
  return toCut(snapshot, nowMs);
}

/** A driver that can neither get nor list snapshots is believed that an existing one is ready. */
export async function inspectSnapshot(
  client: CsiClient,
  driver: DriverInfo,
  handle: string,
  secrets: Record<string, string>,
  nowMs: number,
  options: CallOptions,
): Promise<CutSnapshot> {
  if (driver.can.has("GET_SNAPSHOT")) {
    const { snapshot } = await client.controller.getSnapshot({ snapshotId: handle, secrets }, options);
    if (snapshot !== undefined) return toCut(snapshot, nowMs);
  } else if (driver.can.has("LIST_SNAPSHOTS")) {
    const { entries } = await client.controller.listSnapshots({ snapshotId: handle, secrets }, options);
    const found = entries.find(({ snapshot }) => snapshot?.snapshotId === handle)?.snapshot;
    if (found !== undefined) return toCut(found, nowMs);
  } else return { handle, ready: true, creationTime: nowMs * 1e6, sizeBytes: 0 };
  throw new Error(`the driver does not know snapshot ${handle}`);
}
