import { Code } from "@mooring/csi";
import type { PersistentVolume } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { callFailure } from "../csi/codes.ts";
import { listVolumes } from "../csi/list-volumes.ts";
import type { Condition } from "./decide.ts";

/** The conditions of all volumes that the driver lists, by handle. */
export async function listConditions(
  { driver, timeoutMs }: SidecarContext,
  signal: AbortSignal,
): Promise<Map<string, Condition>> {
  const conditions = new Map<string, Condition>();
  for (const { volume, status } of await listVolumes(driver.client, { signal, timeoutMs })) {
    const { abnormal = false, message = "" } = status?.volumeCondition ?? {};
    if (volume !== undefined) conditions.set(volume.volumeId, { abnormal, message });
  }
  return conditions;
}

/** A list may be partial, so a volume that is missing from it is asked for by name before it counts as lost. */
export async function conditionOf(
  { driver, timeoutMs }: SidecarContext,
  volume: PersistentVolume,
  listed: Map<string, Condition> | undefined,
  signal: AbortSignal,
): Promise<Condition | undefined> {
  const volumeId = volume.spec?.csi?.volumeHandle ?? "";
  const known = listed?.get(volumeId);
  if (known !== undefined || !driver.info.can.has("GET_VOLUME")) return known;
  try {
    const { status } = await driver.client.controller.controllerGetVolume(
      { volumeId },
      { signal, timeoutMs },
    );
    const { abnormal = false, message = "" } = status?.volumeCondition ?? {};
    return { abnormal, message };
  } catch (error) {
    if (callFailure(error).code !== Code.NOT_FOUND) return undefined;
    return { abnormal: true, message: "the driver does not know the volume any more" };
  }
}
