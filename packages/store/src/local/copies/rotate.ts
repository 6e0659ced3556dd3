import { join } from "node:path";
import type { Logger } from "../../runtime/logger.ts";
import { delay } from "../../runtime/wait.ts";
import type { LocalStore } from "../local-store.ts";
import { copiesFolder, copyName, dropOldCopies, listCopies, roomForCopy } from "./state-copies.ts";

const HOUR_MS = 3_600_000;
/** The copy of a start has nothing of what is made then: the first hour has one more. */
const SOON_MS = 300_000;

/** Which store is copied, how often, and where to. */
export interface StateCopiesOptions {
  store: LocalStore;
  stateDir: string;
  /** Milliseconds between two copies; default one hour, and once five minutes after the start. */
  everyMs?: number;
  logger: Logger;
  signal: AbortSignal;
}

/**
 * Copies the store into the state folder at once, soon afterwards and then every hour, when something has changed; old ones go. A copy that
 * cannot be made is reported and tried again: it ends nothing.
 */
export function startStateCopies(options: StateCopiesOptions): { done: Promise<void> } {
  return { done: run(options) };
}

async function run(options: StateCopiesOptions): Promise<void> {
  const { everyMs = HOUR_MS, logger, signal } = options;
  for (let waitMs = Math.min(SOON_MS, everyMs); !signal.aborted; waitMs = everyMs) {
    await copyIfChanged(options).catch((error: unknown) => {
      if (!signal.aborted) logger.warn({ err: error }, "the state could not be copied");
    });
    await delay(waitMs, signal).catch(() => {});
  }
}

async function copyIfChanged({ store, stateDir, logger }: StateCopiesOptions): Promise<void> {
  const revision = Number(store.resourceVersion);
  const [newest] = await listCopies(stateDir);
  if (newest?.revision === revision) return;
  await roomForCopy(stateDir, store.fileBytes);
  const path = join(copiesFolder(stateDir), copyName(new Date(), revision));
  const { objects } = await store.copyTo(path);
  await dropOldCopies(stateDir);
  logger.debug({ path, objects }, "the state has been copied");
}
