import type { ContainerResources } from "../runtime.ts";

interface DeviceRule {
  allow: boolean;
  type?: "b" | "c";
  major?: number;
  minor?: number;
  access: string;
}

/** `linux.resources` of a bundle; runc supports both versions of control groups. */
export interface OciResources {
  devices: DeviceRule[];
  memory?: { limit: number; swap?: number };
  cpu?: { shares?: number; quota?: number; period?: number };
  pids?: { limit: number };
}

/** A pod that forks without end stops itself, not the machine. */
export const PIDS_LIMIT = 4096;
const PERIOD_US = 100_000;
/** What the kernel takes. More than it takes is no limit: no machine has so much. */
const QUOTA_US = { least: 1000, most: 2 ** 40 };
const SHARES = { least: 2, most: 262_144 };

function within({ least, most }: { least: number; most: number }, value: number): number {
  return Math.min(most, Math.max(least, value));
}

/** No device but those of every container (runc adds them: null, zero, random, ...) and the given ones. */
export function resourcesOf(
  { memoryBytes, cpuLimitMilli, cpuRequestMilli, pids }: ContainerResources,
  devices: readonly { major: number; minor: number }[],
): OciResources {
  const cpu = {
    ...(cpuRequestMilli === undefined
      ? {}
      : { shares: within(SHARES, Math.floor((cpuRequestMilli * 1024) / 1000)) }),
    // As in Kubernetes, a limit of 0 is none.
    ...(cpuLimitMilli === undefined || cpuLimitMilli === 0
      ? {}
      : { quota: within(QUOTA_US, (cpuLimitMilli * PERIOD_US) / 1000), period: PERIOD_US }),
  };
  return {
    devices: [
      { allow: false, access: "rwm" },
      ...devices.map((device) => ({ allow: true, type: "b" as const, ...device, access: "rwm" })),
    ],
    // Beyond this a number is written in digits that runc cannot read.
    ...(memoryBytes === undefined
      ? {}
      : { memory: { limit: Math.min(memoryBytes, Number.MAX_SAFE_INTEGER) } }),
    ...(Object.keys(cpu).length === 0 ? {} : { cpu }),
    ...(pids === undefined ? {} : { pids: { limit: pids } }),
  };
}
