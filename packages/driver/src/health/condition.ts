import type { Pool, Volume } from "@mooring/engine";
import { poolLevel, poolStops } from "./pool-message.ts";
import { remountMessage } from "./remount-message.ts";
import { shortText } from "./short-text.ts";

/**
 * Abnormal when the volume is faulted, its last operation failed, mounts of it are dead, or its pool has failed or is (nearly)
 * full; the message is never empty. `pool`: undefined where its object has gone.
 */
export function conditionResponse(
  volume: Volume,
  pool: Pool | undefined,
): { abnormal: boolean; message: string } {
  const problem = problemOf(volume, pool);
  if (problem !== undefined) return { abnormal: true, message: shortText(problem) };
  const { state = "creating" } = volume.status ?? {};
  return { abnormal: false, message: shortText(lostWrites(volume) ?? `the volume is ${state}`) };
}

function problemOf(volume: Volume, pool: Pool | undefined): string | undefined {
  const { robustness, error, salvage } = volume.status ?? {};
  const isFaulted = robustness === "faulted";
  // The file system of a volume whose writes fail gives up, and what is done with it fails: because of its pool.
  const isOfPool = !isFaulted || salvage === undefined || salvage.cause === "filesystem";
  const stops = isOfPool ? poolStops(volume, pool) : undefined;
  if (stops !== undefined) return stops;
  // A fault explains more than what fails because of it, such as closing the device under those who still have it.
  if (isFaulted) return `DATA_LOSS: ${salvage?.message ?? "the volume's data is damaged or gone"}`;
  if (error !== undefined) return `${error.code}: ${error.message}`;
  return remountMessage(volume) ?? poolLevel(volume, pool);
}

/** Writes of the past that failed: there is room again, and nothing else says that data may be missing. */
function lostWrites({ status }: Volume): string | undefined {
  const past = status?.conditions?.find(({ type, message }) => type === "WritesFail" && message !== "");
  if (past === undefined || past.status === "True") return undefined;
  return `there is room again; writes failed before ${past.lastTransitionTime}: what was not synced may be lost`;
}
