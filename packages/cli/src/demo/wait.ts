import { type KubeObject, isNotFound, type ObjectKey, type ObjectStore, type Resource } from "@mooring/store";
import { setTimeout as sleep } from "node:timers/promises";
import { CommandError } from "../output/command-error.ts";
import { EXIT } from "../output/exit-codes.ts";

const PATIENCE_MS = 120_000;

/** Polls `probe` until it answers something other than undefined. `what` is told when patience ends. */
export async function until<T>(what: string, probe: () => Promise<T | undefined>): Promise<T> {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const answer = await probe();
    if (answer !== undefined) return answer;
    if (Date.now() > deadline) {
      throw new CommandError(`waited ${PATIENCE_MS / 1000} s for ${what}`, {
        next: "run the demo with --keep and ask `mooring why` about the object",
        exitCode: EXIT.negative,
      });
    }
    await sleep(25);
  }
}

/** Waits until the object is as `accept` wants it. */
export function untilObject<T extends KubeObject>(
  store: ObjectStore,
  resource: Resource<T>,
  key: ObjectKey,
  accept: (object: T) => boolean,
): Promise<T> {
  return until(`${resource.kind} ${key.name}`, async () => {
    const object = await store.get(resource, key);
    return accept(object) ? object : undefined;
  });
}

/** Waits until the object is gone. */
export function untilGone(store: ObjectStore, resource: Resource, key: ObjectKey): Promise<true> {
  return until(`${resource.kind} ${key.name} to be gone`, async () => {
    try {
      await store.get(resource, key);
      return undefined;
    } catch (error) {
      if (isNotFound(error)) return true;
      throw error;
    }
  });
}
