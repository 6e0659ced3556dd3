import { createClock } from "./clock.ts";
import { createExec, inheriting, limited } from "./exec.ts";
import type { Host } from "./host.ts";
import { createLoopDevices } from "./loops.ts";
import { createMounts } from "./mounts.ts";
import { withRbdLibrary } from "./rbd-library/with-library.ts";
import { Spawners } from "./spawners.ts";

/** losetup takes milliseconds; it tries again without end when a device seems free but is not. */
const LOOP_COMMAND_MS = 30_000;

/** Of a process that lives long, and is large by the time it starts programs for which a caller waits. */
const SERVER_PROGRAMS = 8;

/**
 * This machine, as the current process sees it. Needs root for everything but reading. `server`: a process that starts
 * programs as long as it lives.
 */
export function createHost({ server = false }: { server?: boolean } = {}): Host {
  const spawners = server ? new Spawners(SERVER_PROGRAMS) : new Spawners();
  const clock = createClock();
  const programs = createExec(spawners);
  // A process that runs a few commands would start another one for them.
  const exec = server ? withRbdLibrary(programs, () => clock.sinceBoot()) : programs;
  const inherited = new Set<number>();
  const withInherited = inheriting(exec, () => [...inherited]);
  const mounts = createMounts(withInherited, clock);
  const inherit = (fd: number): (() => Promise<void>) => {
    inherited.add(fd);
    return () => {
      inherited.delete(fd);
      return spawners.release(fd);
    };
  };
  return {
    exec,
    clock,
    mounts,
    loops: createLoopDevices(limited(withInherited, LOOP_COMMAND_MS), mounts, clock),
    inherit,
  };
}
