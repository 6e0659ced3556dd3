import { hostname } from "node:os";
import type { AgentPool, PoolType } from "@mooring/engine";
import type { Command } from "commander";
import { logLevelOption } from "./log-level.ts";
import { overcommitOption, poolOption, poolSizeOption } from "./own-pool.ts";
import { rbdPoolOption } from "./rbd-pool-option.ts";
import { leaseDurationOption, sharedPoolOption } from "./shared-pool-options.ts";
import { trustedNetworkOption } from "./trusted-networks.ts";

/** What a process that is a node gets to know of its machine, its pools and its log. */
export interface HostOptions {
  stateDir: string;
  nodeName: string;
  pool: PoolType;
  /** Bytes; absent: as the pool is, or the default for a new one. */
  poolSize?: number;
  poolOvercommit?: number;
  sharedPool: AgentPool[];
  rbdPool: AgentPool[];
  /** Over which volumes may be shared unencrypted: IPv4, like `10.0.0.0/24`. */
  trustedNetwork: string[];
  /** Milliseconds. */
  leaseDuration: number;
  readyFile?: string;
  logLevel: string;
}

/** Gives a command the options of {@link HostOptions}. */
export function withHostOptions(command: Command): Command {
  return command
    .option("--state-dir <folder>", "where everything is kept", "/var/lib/mooring")
    .option("--node-name <name>", "name of this node", hostname().toLowerCase())
    .addOption(poolOption())
    .addOption(poolSizeOption())
    .addOption(overcommitOption())
    .addOption(sharedPoolOption())
    .addOption(rbdPoolOption())
    .addOption(leaseDurationOption())
    .addOption(trustedNetworkOption())
    .option("--ready-file <file>", "written when everything is ready")
    .addOption(logLevelOption());
}
