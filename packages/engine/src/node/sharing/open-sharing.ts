import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { createInformer, type Informer, type KubeObject, type Logger } from "@mooring/store";
import { LEASE_IMAGE_LABEL } from "../../api/names.ts";
import { NodeAgents } from "../../api/node-agent.ts";
import { canShutOut, type Pool } from "../../api/pool.ts";
import { DeviceGuard } from "../../leases/guard.ts";
import { ImageLeases, LEASE_TIMES, type LeaseTimes } from "../../leases/image-leases.ts";
import { LeaseWatch } from "../../leases/lease-watch.ts";
import type { Sharing } from "../context.ts";
import type { AgentOptions } from "../options.ts";

interface OpenSharing {
  sharing: Sharing;
  /** To be run and waited for with the agent's own. */
  informers: Pick<Informer<KubeObject>, "run" | "synced">[];
}

/** What an agent needs to take part in shared pools. */
export async function openSharing(
  { store, host, nodeID, stateDir, pools = [] }: AgentOptions,
  times: Partial<LeaseTimes>,
  { poolObjects, logger }: { poolObjects: Pick<Informer<Pool>, "get">; logger: Logger },
): Promise<OpenSharing> {
  const { clock } = host;
  await mkdir(stateDir, { recursive: true });
  const guard = await DeviceGuard.open(join(stateDir, "lease-guard"), clock);
  const watch = new LeaseWatch(store, clock, logger);
  const agents = createInformer(store, NodeAgents, { logger });
  const listeners = new Set<(image: string) => void>();
  const report = (image: string): void => {
    for (const listener of listeners) listener(image);
  };
  const changes = new Set<(image: string) => void>();
  const leases = new ImageLeases({
    ...{ store, nodeID, watch, guard, clock, logger },
    identity: `${nodeID}_${incarnation(stateDir)}`,
    times: { ...LEASE_TIMES, ...times },
    endsByCluster: (name) => {
      const pool = poolObjects.get(name);
      return pool !== undefined && canShutOut(pool);
    },
    onLost: report,
    onChanged: (image) => {
      for (const listener of changes) listener(image);
    },
  });
  // A holder gives its lease back a moment after the record that brings the next one here.
  watch.informer.onChange((_old, lease) => {
    const image = lease?.metadata.labels?.[LEASE_IMAGE_LABEL];
    if (image !== undefined && (lease?.spec?.holderIdentity ?? "") === "") report(image);
  });
  const sharing: Sharing = {
    pools: new Set(pools.filter(({ shared }) => shared).map(({ name }) => name)),
    leases,
    agents,
    held: watch.informer,
    onTurn: (listener) => {
      listeners.add(listener);
    },
    onLeaseChanged: (listener) => {
      changes.add(listener);
    },
    close: async (idle) => {
      for (const image of idle ? leases.images() : []) {
        await leases.release(image).catch((error: unknown) => {
          logger.warn({ err: error, image }, "cannot give a lease back; it runs out");
        });
      }
      await guard.close();
    },
  };
  return { sharing, informers: [watch.informer, agents] };
}

/** The same for all agents of this state folder until the machine starts anew: then no device of theirs is left. */
function incarnation(stateDir: string): string {
  const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  return createHash("sha256").update(`${boot}${stateDir}`).digest("hex").slice(0, 12);
}
