import { isAbsolute, normalize } from "node:path";
import { type AgentPool, LEASE_TIMES, type LeaseTimes } from "@mooring/engine";
import { Option } from "commander";
import { CommandError } from "../output/command-error.ts";
import { duration } from "./duration.ts";
import { poolName } from "./node-settings.ts";

/** `fast=/mnt/shared`, as often as there are pools. */
export function sharedPoolOption(): Option {
  return new Option(
    "--shared-pool <name=folder>",
    "a pool in an XFS folder of this kernel, for several agents on one machine; machines share by --rbd-pool; repeatable",
  )
    .default([] as AgentPool[], "none")
    .argParser((text: string, before: AgentPool[]) => [...before, sharedPool(text)]);
}

function sharedPool(text: string): AgentPool {
  const [, name = "", path = ""] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  if (!isAbsolute(path)) {
    throw new CommandError(`--shared-pool ${text} is not a pool and its folder`, {
      next: "write it like fast=/mnt/shared",
    });
  }
  return { name: poolName(name), type: "xfs", shared: true, path: normalize(path) };
}

/** Warns on stderr, when a process starts: two kernels cannot write to one XFS, and nothing here can detect that two have it. */
export function warnOfSharedPools(pools: readonly AgentPool[]): void {
  for (const { name, path } of pools) {
    process.stderr.write(
      `warning: shared pool ${name}: its folder ${path} is for several agents of one kernel; an XFS that two machines mount is destroyed\n`,
    );
    process.stderr.write("next: for several machines use a Ceph cluster: --rbd-pool\n");
  }
}

/** `--lease-duration`, of images in shared pools. */
export function leaseDurationOption(): Option {
  return new Option(
    "--lease-duration <time>",
    "how long a lease of an image of a shared pool lasts without a renewal; the same on every node",
  )
    .argParser(duration)
    .default(LEASE_TIMES.durationMs, `${LEASE_TIMES.durationMs / 1000}s`);
}

/** A quarter of the life of a lease is what the clocks of two machines may differ by meanwhile. */
export function leaseTimes(durationMs: number): LeaseTimes {
  if (durationMs < 4000) {
    throw new CommandError("--lease-duration is too short to be renewed in time", {
      next: "use at least 4s",
    });
  }
  return { durationMs, safetyMs: Math.ceil(durationMs / 4) };
}
