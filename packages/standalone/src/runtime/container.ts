import type { ChildProcess } from "node:child_process";
import { rm } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { failpoint, type Logger } from "@mooring/store";
import type { Cgroups } from "./cgroups.ts";
import {
  type ContainerFiles,
  type ContainerRecord,
  readMonitor,
  readStatus,
  writeRecord,
} from "./container-files.ts";
import { keepStamps } from "./log-stamps.ts";
import {
  findInNamespace,
  isAlive,
  type ProcessIdentity,
  programOf,
  signalProcess,
} from "./process-identity.ts";
import type { ContainerStatus } from "./runtime.ts";
import { explainExit } from "./start-error.ts";
import { changesOf, waitForExit, waitForInit } from "./watch-exit.ts";

const afterExitSeen = failpoint("standalone/runtime/exit-seen");
const afterSignal = failpoint("standalone/runtime/term-sent");

const RETRY_MS = 1000;

const LAUNCHERS = new Set(["bwrap", "setpriv"]);

/** One container that was started, now or by an earlier run of Mooring. */
export interface Container {
  status(): ContainerStatus;
  record(): ContainerRecord;
  /** The container's program: number 2 in its pid namespace. */
  main(): Promise<ProcessIdentity | undefined>;
  stop(graceMs: number, signal?: AbortSignal): Promise<void>;
  /** Settles when it has ended and nothing of it runs any more. */
  readonly ended: Promise<void>;
  /** Stops looking; the container goes on. */
  release(): Promise<void>;
  /** Forgets it on disk, its log too. It must have ended. */
  forget(): Promise<void>;
}

export interface ContainerContext {
  files: ContainerFiles;
  logFile: string;
  cgroups: Cgroups;
  logger: Logger;
  /** After each change that status() shows. */
  changed: () => void;
}

/** Takes charge of a container that was launched (`child`) or found (no child), and waits until its start is decided. */
export async function superviseContainer(
  initial: ContainerRecord,
  context: ContainerContext,
  child?: ChildProcess,
): Promise<Container> {
  const { files, logFile, cgroups, logger, changed } = context;
  const closing = new AbortController();
  let record = initial;
  const stopStamps = await keepStamps(logFile).catch(() => async () => {});
  const next = changesOf(files, child, closing.signal);

  async function save(change: Partial<ContainerRecord>): Promise<void> {
    record = { ...record, ...change };
    await writeRecord(files, record);
    changed();
  }

  /** Until the program runs, or cannot be started. */
  async function start(): Promise<void> {
    const init = record.init ?? (await waitForInit(files, child, next));
    if (init === undefined) return;
    if (record.init === undefined) await save({ init });
    await waitForProgram(init, files, closing.signal);
    await save({ startedAt: child === undefined ? record.createdAt : new Date().toISOString() });
  }

  /** Also ends what the program left running in the background: a container lives as long as its main process. */
  async function killAll(): Promise<void> {
    if (record.init !== undefined) await signalProcess(record.init, "SIGKILL");
    await cgroups.kill(record.pod.uid, record.id);
    // A group does not list who is on the way out; until the init is out, the container's mounts hold their volumes.
    if (record.init !== undefined) await untilGone(record.init);
  }

  async function watchToEnd(): Promise<void> {
    const exit = await waitForExit(files, await readMonitor(files), next);
    afterExitSeen();
    await killAll();
    await stopStamps();
    const startedAt = record.startedAt ?? record.createdAt;
    await save({ startedAt, exit: await explainExit(exit, record, files, logFile) });
    await cgroups.remove(record.pod.uid, record.id);
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

  /** The rest of a start that was cut off by the death of who asked for it: nobody waits for that. */
  async function goOn(): Promise<void> {
    await start().catch((error: unknown) => {
      if (!closing.signal.aborted) logger.warn({ container: record.id, err: error }, "cannot follow a start");
    });
    return untilEnded();
  }

  if (child !== undefined) await start();
  const starting = record.exit === undefined && record.startedAt === undefined && child === undefined;
  const untilThen = starting ? goOn : untilEnded;
  const ended = record.exit === undefined ? untilThen() : Promise.resolve();

  return {
    status: () => statusOf(record),
    record: () => record,
    main: async () => (record.init === undefined ? undefined : findInNamespace(record.init.pid, 2)),
    ended,
    async stop(graceMs, signal) {
      const main = record.init === undefined ? undefined : await findInNamespace(record.init.pid, 2);
      if (record.exit === undefined && graceMs > 0 && main !== undefined) {
        await signalProcess(main, "SIGTERM");
        afterSignal();
        await within(ended, graceMs, signal);
      }
      if (record.exit === undefined) await killAll();
      await ended;
    },
    async release() {
      closing.abort();
      await ended;
      await stopStamps();
    },
    async forget() {
      closing.abort();
      await stopStamps();
      await cgroups.remove(record.pod.uid, record.id);
      for (const suffix of ["", ".times", ".begin"]) await rm(`${logFile}${suffix}`, { force: true });
      await rm(files.folder, { recursive: true, force: true });
    },
  };
}

async function untilGone(init: ProcessIdentity): Promise<void> {
  const deadline = Date.now() + 10_000;
  for (let wait = 1; await isAlive(init); wait = Math.min(wait * 2, 50)) {
    if (Date.now() > deadline) throw new Error(`process ${init.pid} does not end`);
    await sleep(wait);
  }
}

/** Until the program has taken the launcher's place, a signal would hit the launcher. */
async function waitForProgram(
  init: ProcessIdentity,
  files: ContainerFiles,
  signal: AbortSignal,
): Promise<void> {
  for (let wait = 1; await isAlive(init); wait = Math.min(wait * 2, 20)) {
    // It may have ended already, and something that it left behind keeps the init alive.
    if ((await readStatus(files)).exitCode !== undefined) return;
    const main = await findInNamespace(init.pid, 2);
    const program = main === undefined ? undefined : await programOf(main.pid);
    if (program !== undefined && !LAUNCHERS.has(program)) return;
    await sleep(wait, undefined, { signal });
  }
}

async function within(done: Promise<void>, milliseconds: number, signal?: AbortSignal): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => resolve(), { once: true });
  });
  await Promise.race([done, timeout]);
  clearTimeout(timer);
}

function statusOf(record: ContainerRecord): ContainerStatus {
  const { id, pod, name, attempt, createdAt, startedAt, exit, init } = record;
  const running = startedAt === undefined ? "created" : "running";
  return {
    id,
    pod,
    name,
    attempt,
    createdAt,
    state: exit === undefined ? running : "exited",
    ...(startedAt === undefined ? {} : { startedAt }),
    ...(init === undefined ? {} : { pid: init.pid }),
    ...(exit === undefined ? {} : { exit }),
  };
}
