import { watch } from "node:fs";
import { delay, firstOf } from "@mooring/store";
import { type ContainerFiles, readMonitor, readStatus } from "./container-files.ts";
import type { StartedMonitor } from "./launcher.ts";
import { identify, isAlive, type ProcessIdentity } from "./process-identity.ts";
import type { ContainerExit } from "./runtime.ts";
import { failedStart, readEnd } from "./start-error.ts";

/** Of runc's own message. */
const LOG_BYTES = 64 * 1024;

/**
 * A monitor of an earlier process notifies no process of ours when it ends without leaving an exit code; this is how long
 * that may go unnoticed. The end of one that we have started is reported, so polling it is only a precaution.
 */
const POLL_MS = { started: 60_000, adopted: 1000 };

/**
 * Wakes the callers that wait, when the folder's files change or the monitor ends, and now and then without a reason: soon, where
 * the machine has no more watches.
 */
export function changesOf(files: ContainerFiles, monitor: StartedMonitor | undefined, signal: AbortSignal) {
  let wake = () => {};
  let changed = false;
  const notify = () => {
    changed = true;
    wake();
  };
  const isWatched = watchFolder(files.folder, signal, notify);
  monitor?.onEnd(notify);
  return async function next(): Promise<void> {
    if (!changed) {
      const timer = new AbortController();
      wake = () => timer.abort();
      const pollMs = isWatched && monitor?.state === "running" ? POLL_MS.started : POLL_MS.adopted;
      await firstOf([timer.signal, signal], (woken) => delay(pollMs, woken)).catch(() => {});
    }
    changed = false;
    signal.throwIfAborted();
  };
}

function watchFolder(folder: string, signal: AbortSignal, notify: () => void): boolean {
  try {
    watch(folder, { signal, persistent: false }, notify).on("error", notify);
    return true;
  } catch {
    return false;
  }
}

/** Waits until the container's init is known or the start has failed. No monitor: an earlier process launched it. */
export async function waitForInit(
  files: ContainerFiles,
  monitor: StartedMonitor | undefined,
  next: () => Promise<void>,
): Promise<ProcessIdentity | undefined> {
  for (;;) {
    const over = monitor === undefined ? !(await isMonitored(files)) : await hasEnded(monitor);
    const { init, at } = await readStatus(files);
    const identity = init === undefined ? undefined : await identify(init);
    if (identity !== undefined) return identity;
    if (at !== undefined || over) return undefined;
    await next();
  }
}

async function hasEnded({ identity, state }: StartedMonitor): Promise<boolean> {
  if (state !== "unknown") return state === "ended";
  return identity === undefined || !(await isAlive(identity));
}

async function isMonitored(files: ContainerFiles): Promise<boolean> {
  const monitor = await readMonitor(files);
  return monitor !== undefined && isAlive(monitor);
}

/** Waits for the end of a container, whichever process started it. */
export async function waitForExit(
  files: ContainerFiles,
  monitor: ProcessIdentity | undefined,
  next: () => Promise<void>,
): Promise<ContainerExit> {
  for (;;) {
    // In this order: the status is complete once the monitor is gone.
    const running = monitor !== undefined && (await isAlive(monitor));
    const { exitCode, failed, at = new Date() } = await readStatus(files);
    if (!running && failed) return failedStart(await readEnd(files.runcLog, LOG_BYTES).catch(() => ""), at);
    if (!running) return exitCode === undefined ? lostExit() : exitOf(exitCode, at);
    await next();
  }
}

/** How a container ended whose end no process saw, as the kubelet calls it. */
function lostExit(): ContainerExit {
  return {
    code: 137,
    reason: "ContainerStatusUnknown",
    message:
      "the container's processes are gone and left no exit code: the machine was restarted, or their monitor was killed",
    finishedAt: new Date().toISOString(),
  };
}

function exitOf(code: number, at: Date): ContainerExit {
  return { code, reason: code === 0 ? "Completed" : "Error", finishedAt: at.toISOString() };
}
