import { rm } from "node:fs/promises";
import { constants } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { defined, delay, failpoint, firstOf, type Logger } from "@mooring/store";
import type { Cgroups } from "./cgroups.ts";
import { type ContainerFiles, type ContainerRecord, readMonitor, writeRecord } from "./container-files.ts";
import type { StartedMonitor } from "./launcher.ts";
import { trimMessage, type WhileStill } from "./log-limit.ts";
import { keepStamps } from "./log-stamps.ts";
import { isAlive, isRunc, type ProcessIdentity, signalProcess, survivesSignal } from "./process-identity.ts";
import type { ContainerExit, ContainerStatus, StopOptions } from "./runtime.ts";
import { explainExit } from "./start-error.ts";
import { changesOf, waitForExit, waitForInit } from "./watch-exit.ts";
import { whileChanging } from "./while-changing.ts";

const afterExitSeen = failpoint("standalone/runtime/exit-seen");
const afterSignal = failpoint("standalone/runtime/term-sent");

const RETRY_MS = 1000;
const STILL_AGAIN_MS = 30_000;
/** How long a graceful stop waits for a start that is under way. */
const START_MS = 10_000;

/** 128 + the number of SIGKILL. */
const KILLED = 137;
const { SIGTERM } = constants.signals;

/** One container that was started, now or by an earlier run of Mooring. */
export interface Container {
  status(): ContainerStatus;
  record(): ContainerRecord;
  stop(options: StopOptions): Promise<void>;
  /** Settles when it has ended and nothing of it runs any more. */
  readonly ended: Promise<void>;
  /** Stops supervising the container, which goes on running. */
  release(): Promise<void>;
  /** Forgets it on disk, its log too. It must have ended. */
  forget(): Promise<void>;
}

/** What the supervision of one container has from its runtime. */
export interface ContainerContext {
  files: ContainerFiles;
  logFile: string;
  cgroups: Cgroups;
  logger: Logger;
  /** After each change that status() shows. */
  changed: () => void;
  /** Removes what only the start needed. The container may have ended by then, but is not cleaned up before. */
  started(): Promise<void>;
  /** Removes what runc keeps of a container that has ended. */
  cleanUp(): Promise<void>;
}

/** Takes charge of a container that was launched (`monitor`) or found (no monitor), and waits until its start is decided. */
export async function superviseContainer(
  initial: ContainerRecord,
  context: ContainerContext,
  monitor?: StartedMonitor,
): Promise<Container> {
  const { files, logFile, cgroups, logger, changed } = context;
  const closing = new AbortController();
  let record = initial;
  let terminated = false;
  const { id, pod } = initial;
  // A Mooring process that was killed may have left the container frozen.
  if (monitor === undefined) await cgroups.resume(pod.uid, id);
  const stopKeeping = await keepFiles(
    files,
    logFile,
    patiently((work) => cgroups.whileStill(pod.uid, id, work)),
  );
  const next = changesOf(files, monitor, closing.signal);

  let written: Promise<void> = Promise.resolve();
  /** As it is then; one after the other, as they share a file. */
  function write(): Promise<void> {
    written = written.catch(() => {}).then(() => writeRecord(files, record));
    return written;
  }

  async function save(change: Partial<ContainerRecord>): Promise<void> {
    record = { ...record, ...change };
    await write();
    changed();
  }

  /**
   * Seen at once, and on disk soon: what a life after this one has to know of a container is in the record from before its
   * start, and in the files of its monitor.
   */
  function noteStart(startedAt: string): void {
    record = { ...record, startedAt };
    write().catch((error: unknown) => {
      logger.warn({ container: record.id, err: error }, "cannot record yet when a container has started");
    });
    changed();
  }

  /** Until the program runs, or cannot be started. */
  async function start(): Promise<void> {
    const init = record.init ?? (await waitForInit(files, monitor, next));
    if (init === undefined) return;
    // The monitor has it on disk: it is saved with the next change.
    record = { ...record, init };
    await waitForProgram(init, closing.signal);
    noteStart(monitor === undefined ? record.createdAt : new Date().toISOString());
    await removeOfStart();
  }

  /** A program that runs is not started again because something of its start is still there: that goes at its end. */
  async function removeOfStart(): Promise<void> {
    await context.started().catch((error: unknown) => {
      logger.warn({ container: record.id, err: error }, "cannot remove yet what a start needed");
    });
  }

  /** Also ends what the program left running in the background: a container lives as long as its main process. */
  async function killAll(): Promise<void> {
    if (record.init !== undefined) await signalProcess(record.init, "SIGKILL");
    await cgroups.kill(record.pod.uid, record.id);
    // A group does not list who is on the way out; until the init is out, the container's mounts keep their volumes busy.
    if (record.init !== undefined) await untilGone(record.init);
  }

  async function watchToEnd(): Promise<void> {
    const exit = await waitForExit(files, await readMonitor(files), next);
    afterExitSeen();
    await killAll();
    await stopKeeping();
    const startedAt = record.startedAt ?? record.createdAt;
    const explained = await explainExit(await wasOutOfMemory(exit), record, files, logFile);
    await save({ startedAt, exit: { ...explained, ...(record.shutdown ? { shutdown: true } : {}) } });
    await context.cleanUp();
    await cgroups.remove(record.pod.uid, record.id);
  }

  async function wasOutOfMemory(exit: ContainerExit): Promise<ContainerExit> {
    if (exit.code !== KILLED) return exit;
    if (terminated) return { ...exit, code: 128 + (record.stopSignal ?? SIGTERM) };
    return (await cgroups.outOfMemory(record.pod.uid, record.id)) ? { ...exit, reason: "OOMKilled" } : exit;
  }

  /** What the signal does to a program that has no handler: the kernel spares the first process of a namespace. */
  async function terminate(init: ProcessIdentity): Promise<void> {
    const { stopSignal = SIGTERM } = record;
    if (await survivesSignal(init, stopSignal)) await signalProcess(init, stopSignal);
    else terminated = await signalProcess(init, "SIGKILL");
    afterSignal();
  }

  /** A process in an uninterruptible wait outlives its SIGKILL; the container has not ended before it has. */
  async function untilEnded(): Promise<void> {
    while (!closing.signal.aborted) {
      try {
        return await watchToEnd();
      } catch (error) {
        if (closing.signal.aborted) return;
        logger.warn({ container: record.id, err: error }, "a container does not go away; trying again");
        await sleep(RETRY_MS, undefined, { signal: closing.signal }).catch(() => {});
      }
    }
  }

  /** The rest of a start that was interrupted by the death of the process that asked for it: no caller waits for that. */
  function goOn(): Promise<void> {
    return start().catch((error: unknown) => {
      if (!closing.signal.aborted) logger.warn({ container: record.id, err: error }, "cannot follow a start");
    });
  }

  try {
    if (monitor !== undefined) await start();
  } catch (error) {
    closing.abort();
    await written.catch(() => {});
    await stopKeeping();
    throw error;
  }
  const starting = record.exit === undefined && record.startedAt === undefined && monitor === undefined;
  const decided = starting ? goOn() : Promise.resolve();
  const ended = (record.exit === undefined ? decided.then(untilEnded) : Promise.resolve()).finally(() =>
    closing.abort(),
  );

  return {
    status: () => statusOf(record),
    record: () => record,
    ended,
    async stop({ graceMs, signal, shutdown }) {
      if (record.exit === undefined && shutdown) await save({ shutdown });
      if (record.exit === undefined && graceMs > 0) await atMost(decided, START_MS, signal);
      if (record.exit === undefined && graceMs > 0 && record.init !== undefined) {
        await terminate(record.init);
        await atMost(ended, graceMs, signal);
      }
      if (record.exit === undefined) await killAll();
      // What a start brought forth after that would run on.
      await decided;
      if (record.exit === undefined) await killAll();
      await ended;
    },
    async release() {
      closing.abort();
      await ended;
      await written.catch(() => {});
      await stopKeeping();
    },
    async forget() {
      closing.abort();
      await written.catch(() => {});
      await stopKeeping();
      await context.cleanUp();
      await cgroups.remove(record.pod.uid, record.id);
      for (const suffix of ["", ".times", ".begin"]) await rm(`${logFile}${suffix}`, { force: true });
      await rm(files.folder, { recursive: true, force: true });
    },
  };
}

/** What the container writes straight into files of ours stays within bounds until the returned function is called. */
async function keepFiles(
  { message }: ContainerFiles,
  logFile: string,
  whileStill: WhileStill,
): Promise<() => Promise<void>> {
  const none = () => async () => {};
  const stops = await Promise.all([
    keepStamps(logFile, whileStill).catch(none),
    whileChanging(message, () => trimMessage(message, whileStill)).catch(none),
  ]);
  return async () => {
    await Promise.all(stops.map((stop) => stop()));
  };
}

/**
 * Not again at once where it could not be done: a program that waits for a disk may do so for long, and others of its
 * container stand.
 */
function patiently(whileStill: WhileStill): WhileStill {
  let again = 0;
  return async (work) => {
    if (performance.now() < again) throw new Error("the container did not stand still a moment ago");
    again = performance.now() + STILL_AGAIN_MS;
    await whileStill(work);
    again = 0;
  };
}

async function untilGone(init: ProcessIdentity): Promise<void> {
  const deadline = performance.now() + 10_000;
  for (let wait = 1; await isAlive(init); wait = Math.min(wait * 2, 50)) {
    if (performance.now() > deadline) throw new Error(`process ${init.pid} does not end`);
    await sleep(wait);
  }
}

/** Until the program has taken the place of runc's own first process, a signal would hit that. */
async function waitForProgram(init: ProcessIdentity, signal: AbortSignal): Promise<void> {
  for (let wait = 1; (await isAlive(init)) && (await isRunc(init.pid)); wait = Math.min(wait * 2, 2)) {
    await sleep(wait, undefined, { signal });
  }
}

async function atMost(done: Promise<void>, milliseconds: number, signal?: AbortSignal): Promise<void> {
  const over = new AbortController();
  const signals = signal === undefined ? [over.signal] : [over.signal, signal];
  const late = firstOf(signals, (first) => delay(milliseconds, first)).catch(() => {});
  await Promise.race([done, late]);
  over.abort();
}

function statusOf(record: ContainerRecord): ContainerStatus {
  const { id, pod, name, attempt, createdAt, startedAt, exit, init, imageRoot, imageID } = record;
  const running = startedAt === undefined ? "created" : "running";
  return {
    id,
    pod,
    name,
    attempt,
    createdAt,
    state: exit === undefined ? running : "exited",
    ...defined({ startedAt, imageRoot, imageID, pid: init?.pid, exit }),
  };
}
