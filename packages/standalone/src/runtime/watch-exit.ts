import type { ChildProcess } from "node:child_process";
import { watch } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { type ContainerFiles, readMonitor, readStatus } from "./container-files.ts";
import { identify, isAlive, type ProcessIdentity } from "./process-identity.ts";
import type { ContainerExit } from "./runtime.ts";
import { failedStart, readEnd } from "./start-error.ts";

/** Of runc's own message. */
const LOG_BYTES = 64 * 1024;

/**
 * A process that was never our child notifies nobody when it ends without leaving an exit code; this is how long that may
 * go unnoticed. A child's end is reported, so polling it is only a precaution.
 */
const POLL_MS = { child: 60_000, adopted: 1000 };

/** Wakes whoever waits, when the folder's files change or the child ends, and now and then without a reason. */
export function changesOf(files: ContainerFiles, child: ChildProcess | undefined, signal: AbortSignal) {
  let wake = () => {};
  let changed = false;
  const notify = () => {
    changed = true;
    wake();
  };
  const watcher = watch(files.folder, { signal }, notify);
  watcher.on("error", notify);
  child?.once("exit", notify);
  return async function next(): Promise<void> {
    if (!changed) {
      const timer = new AbortController();
      wake = () => timer.abort();
      await sleep(child === undefined ? POLL_MS.adopted : POLL_MS.child, undefined, {
        signal: AbortSignal.any([timer.signal, signal]),
      }).catch(() => {});
    }
    changed = false;
    signal.throwIfAborted();
  };
}

/** Waits until the container's init is known or the start has failed. No child: an earlier process launched it. */
export async function waitForInit(
  files: ContainerFiles,
  child: ChildProcess | undefined,
  next: () => Promise<void>,
): Promise<ProcessIdentity | undefined> {
  for (;;) {
    const over = child === undefined ? !(await isMonitored(files)) : hasEnded(child);
    const { init, at } = await readStatus(files);
    const identity = init === undefined ? undefined : await identify(init);
    if (identity !== undefined) return identity;
    if (at !== undefined || over) return undefined;
    await next();
  }
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

async function isMonitored(files: ContainerFiles): Promise<boolean> {
  const monitor = await readMonitor(files);
  return monitor !== undefined && isAlive(monitor);
}

/** Waits for the end of a container, whoever started it. */
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

/** How a container ended that nobody saw the end of, as the kubelet calls it. */
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
