import { createClock } from "./clock.ts";
import { createExec } from "./exec.ts";
import type { Host } from "./host.ts";
import { createLoopDevices } from "./loops.ts";
import { createMounts } from "./mounts.ts";

/** This machine, as the current process sees it. Needs root for everything but reading. */
export function createHost(): Host {
  const exec = createExec();
  const clock = createClock();
  const mounts = createMounts(exec, clock);
  return { exec, clock, mounts, loops: createLoopDevices(exec, mounts, clock) };
}
