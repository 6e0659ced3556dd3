import { pendingExpansion, pendingRestore, type Volume, Volumes } from "@mooring/engine";
import type { ObjectStore } from "@mooring/store";
import { describeBytes } from "@mooring/store";
import { type Check, check } from "./check.ts";

/** What an operator asked of a volume, and what was given up: nothing goes on until they ask again. */
export async function jobChecks(store: ObjectStore): Promise<Check[]> {
  return (await store.list(Volumes)).items.flatMap((volume) => [...restore(volume), ...expansion(volume)]);
}

function restore(volume: Volume): Check[] {
  const { name } = volume.metadata;
  const { snapshot, state, finishedAt, message } = volume.status?.restore ?? {};
  const asked = volume.spec.restoreFrom?.snapshot === snapshot && pendingRestore(volume) === undefined;
  if (state !== "Failed" || !asked) return [];
  const what = `was not restored from snapshot ${snapshot}, given up at ${finishedAt}: ${message}`;
  const next = "ask again with another spec.restoreFrom.request, or take spec.restoreFrom away";
  return [check(`Volume ${name}`, "fail", what, next)];
}

function expansion(volume: Volume): Check[] {
  const { expansion: wanted } = volume.status ?? {};
  if (wanted === undefined || pendingExpansion(volume) !== undefined) return [];
  const what = `its file system was not grown to ${describeBytes(wanted.size)} after ${wanted.failures} attempts: ${wanted.message}`;
  const next = "repair what the message names: it grows when it is mounted next, or asked to be larger";
  return [check(`Volume ${volume.metadata.name}`, "fail", what, next)];
}
