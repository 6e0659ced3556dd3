import { delay, type EventRecorder, within } from "@mooring/store";
import type { Drivers } from "../csi/drivers.ts";
import { type ClaimInUse, claimsInUse, statsOf, type UsageSources } from "./usage.ts";

/** As often as upstream's kubelet measures volumes. */
const EVERY_MS = 60_000;
/** A driver that does not respond about a volume keeps the others waiting no longer. */
const LONGEST_MS = 5_000;

/** Whose volumes are read, and who reports. */
export interface ConditionOptions {
  drivers: Drivers;
  events: EventRecorder;
  /** What is in use now. */
  sources(): UsageSources;
  /** Milliseconds between two reads of all volumes; default a minute. */
  everyMs?: number;
}

/**
 * Reports to pods what their drivers say is wrong with their volumes, as upstream's kubelet does with the feature
 * `CSIVolumeHealth`: an event when it is news, and one when it is over. Runs until the signal aborts.
 */
export async function reportConditions(options: ConditionOptions, signal: AbortSignal): Promise<void> {
  let known: Reported = new Map();
  while (!signal.aborted) {
    known = await reportOnce(options, known, signal);
    await delay(options.everyMs ?? EVERY_MS, signal).catch(() => {});
  }
}

/** What each volume of each pod is reported to have, by the pod's UID and the volume's name in it. */
type Reported = ReadonlyMap<string, string>;

/** One after the other: a node with hundreds of volumes has other things to do. */
async function reportOnce(
  { drivers, events, sources }: ConditionOptions,
  known: Reported,
  signal: AbortSignal,
): Promise<Reported> {
  const now = new Map<string, string>();
  for (const used of claimsInUse(sources())) {
    const message = await abnormality(drivers, used, signal);
    for (const { pod, name } of used.users) {
      const key = `${pod.metadata.uid}/${name}`;
      const before = known.get(key);
      // Nothing is known of it: that is no news.
      const current = message === undefined ? before : message;
      if (current !== undefined && current !== "") now.set(key, current);
      if (current === before) continue;
      if (current) events.event(pod, "Warning", "VolumeConditionAbnormal", `Volume ${name}: ${current}`);
      else if (before !== undefined)
        events.event(
          pod,
          "Normal",
          "VolumeConditionNormal",
          `Volume ${name}: its driver reports nothing more`,
        );
    }
  }
  return now;
}

/** Why the volume is abnormal; empty: it is not. Undefined: its driver does not say. */
async function abnormality(
  drivers: Drivers,
  used: ClaimInUse,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const stats = await within(LONGEST_MS, signal, (until) => statsOf(drivers, used, until));
    if (stats?.volumeCondition === undefined) return undefined;
    const { abnormal, message } = stats.volumeCondition;
    return abnormal ? message || "its driver reports an abnormal condition without a reason" : "";
  } catch {
    // It may have been released meanwhile.
    return undefined;
  }
}
