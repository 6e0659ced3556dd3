import { isDeepStrictEqual } from "node:util";
import type { Informer } from "@mooring/store";
import type { Volume } from "../../api/volume.ts";
import { mountFault } from "../../host/mount-fault.ts";
import type { AgentContext } from "../context.ts";
import { DeviceProbes } from "./device-probes.ts";
import type { Fault } from "./fault.ts";

/** Checks the volumes that are attached here, now and then until the signal: what fails under its users sends no event. */
export async function watchHealth(
  context: AgentContext,
  volumes: Informer<Volume>,
  ask: (name: string) => void,
): Promise<void> {
  const { host, healthMs, signal, logger } = context;
  const devices = new DeviceProbes(context);
  while (!signal.aborted) {
    await host.clock.sleep(healthMs, signal).catch(() => {});
    if (signal.aborted) return;
    await checkAll(context, devices, volumes.list(), ask).catch((error: unknown) => {
      logger.warn({ err: error }, "cannot check the health of volumes");
    });
  }
}

async function checkAll(
  context: AgentContext,
  devices: DeviceProbes,
  volumes: readonly Volume[],
  ask: (name: string) => void,
): Promise<void> {
  const { host, nodeID, faults } = context;
  for (const name of await targetsWithout(context, volumes)) ask(name);
  const attached = volumes.filter(
    ({ status }) => status?.state === "attached" && status.currentNodeID === nodeID,
  );
  if (attached.length === 0) return;
  const mounts = await host.mounts.list();
  const report = (volume: Volume): void => {
    const { name } = volume.metadata;
    const known = volume.status?.robustness === "faulted";
    if (!known && faults.has(name)) ask(name);
  };
  // Also one whose volume is faulted by its record: that may be an older one.
  const keep = (name: string, fault: Fault | undefined): void => {
    const known = faults.get(name);
    if (fault === undefined) faults.delete(name);
    else faults.set(name, fault);
    if (!isDeepStrictEqual(known, fault)) ask(name);
  };
  const bare: Volume[] = [];
  for (const volume of attached) {
    const mount = mounts.find(({ source }) => source === volume.status?.device);
    if (mount === undefined && volume.status?.frontendDisabled !== true) {
      bare.push(volume);
      continue;
    }
    const message = mount === undefined ? undefined : await mountFault(mount);
    keep(volume.metadata.name, message === undefined ? undefined : { cause: "filesystem", message });
    report(volume);
  }
  for (const [name, message] of await devices.round(bare))
    keep(name, message === undefined ? undefined : { cause: "device", message });
  for (const volume of bare) report(volume);
}

/**
 * Volumes that are to move here and whose device is not withheld for that, any more or not yet. Nobody uses it yet who would
 * notice that it has gone.
 */
async function targetsWithout({ host, nodeID }: AgentContext, volumes: readonly Volume[]): Promise<string[]> {
  const names: string[] = [];
  for (const { metadata, status } of volumes) {
    if (status?.currentMigrationNodeID !== nodeID || status.migrationDevice === undefined) continue;
    const loop = await host.loops.at(status.migrationDevice).catch(() => undefined);
    const isWithheld = loop?.fenced === true && loop.autoclear !== true && loop.deleted !== true;
    if (!isWithheld) names.push(metadata.name);
  }
  return names;
}
