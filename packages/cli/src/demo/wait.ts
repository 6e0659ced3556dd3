import {
  eventually,
  type KubeObject,
  type ObjectKey,
  type ObjectStore,
  type Resource,
  WaitedInVain,
  waitFor,
  withTimeLimit,
} from "@mooring/store";
import { CommandError } from "../output/command-error.ts";
import { EXIT } from "../output/exit-codes.ts";

const PATIENCE_MS = 120_000;

function impatient(what: string, cause?: unknown): CommandError {
  return new CommandError(`waited ${PATIENCE_MS / 1000} s for ${what}`, {
    next: "run the demo with --keep and ask `mooring why` about the object",
    exitCode: EXIT.negative,
    cause,
  });
}

/** Polls `probe` until it returns something other than undefined or false. `what` is reported when patience ends. */
export async function until<T>(
  what: string,
  probe: () => Promise<T>,
): Promise<Exclude<T, undefined | false>> {
  try {
    return await eventually(what, probe, { withinMs: PATIENCE_MS });
  } catch (error) {
    throw error instanceof WaitedInVain ? impatient(what) : error;
  }
}

async function watched<T extends KubeObject>(
  what: string,
  store: ObjectStore,
  { resource, key }: { resource: Resource<T>; key: ObjectKey },
  accept: (object: T | undefined) => boolean,
): Promise<T | undefined> {
  const signal = withTimeLimit(PATIENCE_MS);
  try {
    return await waitFor(store, { resource, key }, accept, signal);
  } catch (error) {
    throw signal.aborted ? impatient(what, error) : error;
  }
}

/** Waits until the object is there and as `accept` wants it. */
export async function untilObject<T extends KubeObject>(
  store: ObjectStore,
  resource: Resource<T>,
  key: ObjectKey,
  accept: (object: T) => boolean,
): Promise<T> {
  const what = `${resource.kind} ${key.name}`;
  const object = await watched(what, store, { resource, key }, (item) => item !== undefined && accept(item));
  if (object === undefined) throw impatient(what);
  return object;
}

/** Waits until the object is gone. */
export async function untilGone(store: ObjectStore, resource: Resource, key: ObjectKey): Promise<void> {
  await watched(
    `${resource.kind} ${key.name} to be gone`,
    store,
    { resource, key },
    (item) => item === undefined,
  );
}
