import type { Informer, WorkQueue } from "@mooring/store";
import type { Volume } from "../../api/volume.ts";
import type { AgentContext } from "../context.ts";
import { mountFault } from "./fault.ts";

/** Looks at the volumes that are attached here, now and then until the signal: what fails under its users sends no event. */
export async function watchHealth(
  context: AgentContext,
  volumes: Informer<Volume>,
  queue: WorkQueue,
): Promise<void> {
  const { host, healthMs, signal, logger } = context;
  while (!signal.aborted) {
    await host.clock.sleep(healthMs, signal).catch(() => {});
    if (signal.aborted) return;
    await look(context, volumes.list(), queue).catch((error: unknown) => {
      logger.warn({ err: error }, "cannot look at the health of volumes");
    });
  }
}

async function look(context: AgentContext, volumes: readonly Volume[], queue: WorkQueue): Promise<void> {
  const { host, nodeID, faults, pools } = context;
  const attached = volumes.filter(
    ({ status }) => status?.state === "attached" && status.currentNodeID === nodeID,
  );
  if (attached.length === 0) return;
  const mounts = await host.mounts.list();
  for (const { metadata, spec, status } of attached) {
    const { name } = metadata;
    const mount = mounts.find(({ source }) => source === status?.device);
    const fault = mount === undefined ? undefined : await mountFault(mount);
    if (fault === undefined) faults.delete(name);
    else faults.set(name, fault);
    const image = await pools
      .get(spec.pool)
      ?.backend.find(name)
      .catch(() => undefined);
    const damaged = pools.get(spec.pool) !== undefined && (image?.size ?? -1) < (status?.size ?? 0);
    if ((fault !== undefined || damaged) && status?.robustness !== "faulted") queue.add(name);
  }
}
