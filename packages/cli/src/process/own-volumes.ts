import { mkdtemp, rm } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import type { SidecarOptions } from "@mooring/sidecars";
import { runClusterController } from "@mooring/standalone";
import type { RestStore } from "@mooring/store";
import { defined } from "@mooring/store";
import type { Logger } from "pino";
import { graceFor, type NodeGrace } from "../options/node-grace.ts";
import { leaseTimes } from "../options/shared-pool-options.ts";
import { VERSION } from "./version.ts";

interface OwnVolumes extends NodeGrace {
  store: RestStore;
  logger: Logger;
  signal: AbortSignal;
  sidecars: Omit<SidecarOptions, "store" | "endpoint" | "logger" | "signal">;
  /** Written when this process leads, or waits for the lease. */
  ready: (content: object) => Promise<void>;
}

/**
 * `mooring controller --engine`: what our own volumes need once in a cluster. The driver's controller service is in this
 * process, behind a socket in a folder that only this user can open. Settles after the signal.
 */
export async function controlOwnVolumes(options: OwnVolumes): Promise<void> {
  const { store, logger, signal, sidecars, ready } = options;
  const times = { leases: leaseTimes(options.leaseDuration), nodeGraceMs: graceFor(options) };
  const stateDir = await mkdtemp(join(tmpdir(), "mooring-"));
  const { leaderElection, ...rest } = sidecars;
  try {
    if (leaderElection !== undefined) await ready({ pid: process.pid, leading: false });
    await runClusterController({
      ...{ store, logger, signal, stateDir, sidecars: rest, ...times },
      endpoint: `unix://${join(stateDir, "csi.sock")}`,
      name: hostname().toLowerCase(),
      version: VERSION,
      ...defined({ leaderElection }),
      onLeading: (controllers) => {
        process.stdout.write(`controlling our own volumes\n  ${controllers.join(", ")}\n`);
        ready({ pid: process.pid, leading: true, controllers }).catch((error: unknown) =>
          logger.error({ err: error }, "cannot write the ready file"),
        );
      },
    });
  } finally {
    await rm(stateDir, { recursive: true, force: true });
  }
}
