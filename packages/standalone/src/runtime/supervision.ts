import { constants } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { failpoint, type Logger } from "@mooring/store";
import type { Cgroups } from "./cgroups.ts";
import { type ContainerFiles, type ContainerRecord, readMonitor } from "./container-files.ts";
import type { StartedMonitor } from "./launcher.ts";
import { isAlive, isRunc, type ProcessIdentity, signalProcess, survivesSignal } from "./process-identity.ts";
import type { ContainerExit } from "./runtime.ts";
import { SavedRecord } from "./saved-record.ts";
import { explainExit } from "./start-error.ts";
import { changesOf, waitForExit, waitForInit } from "./watch-exit.ts";

const afterExitSeen = failpoint("standalone/runtime/exit-seen");
const afterSignal = failpoint("standalone/runtime/term-sent");

const RETRY_MS = 1000;

/** 128 + the number of SIGKILL. */
const KILLED = 137;
const { SIGTERM } = constants.signals;

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

/** The life of one container: its start, what ends it, and what is done when it has ended. */
export class Supervision {
  readonly record: SavedRecord;
  readonly #context: ContainerContext;
  readonly #monitor: StartedMonitor | undefined;
  readonly #stopKeeping: () => Promise<void>;
  readonly #closing = new AbortController();
  readonly #next: () => Promise<void>;
  #terminated = false;

  /** `stopKeeping`: what the container writes is no longer kept within bounds. `monitor`: of one that was launched. */
  constructor(
    record: ContainerRecord,
    context: ContainerContext,
    stopKeeping: () => Promise<void>,
    monitor: StartedMonitor | undefined,
  ) {
    this.#context = context;
    this.#monitor = monitor;
    this.#stopKeeping = stopKeeping;
    this.record = new SavedRecord(record, context.files, context.logger, context.changed);
    this.#next = changesOf(context.files, monitor, this.#closing.signal);
  }

  /** Until the program runs, or cannot be started. */
  async start(): Promise<void> {
    const init = this.record.now.init ?? (await waitForInit(this.#context.files, this.#monitor, this.#next));
    if (init === undefined) return;
    // The monitor has it on disk: it is saved with the next change.
    this.record.keep({ init });
    await waitForProgram(init, this.#closing.signal);
    this.record.noteStart(this.#monitor === undefined ? this.record.now.createdAt : new Date().toISOString());
    await this.#removeOfStart();
  }

  /** The rest of a start that was interrupted by the death of the process that asked for it: no caller waits for that. */
  async goOn(): Promise<void> {
    await this.start().catch((error: unknown) => {
      if (!this.#closing.signal.aborted) this.#warn(error, "cannot follow a start");
    });
  }

  /** A process in an uninterruptible wait outlives its SIGKILL; the container has not ended before it has. */
  async untilEnded(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      try {
        return await this.#watchToEnd();
      } catch (error) {
        if (this.#closing.signal.aborted) return;
        this.#warn(error, "a container does not go away; trying again");
        await sleep(RETRY_MS, undefined, { signal: this.#closing.signal }).catch(() => {});
      }
    }
  }

  /** What the signal does to a program that has no handler: the kernel spares the first process of a namespace. */
  async terminate(init: ProcessIdentity): Promise<void> {
    const { stopSignal = SIGTERM } = this.record.now;
    if (await survivesSignal(init, stopSignal)) await signalProcess(init, stopSignal);
    else this.#terminated = await signalProcess(init, "SIGKILL");
    afterSignal();
  }

  /** Also ends what the program left running in the background: a container lives as long as its main process. */
  async killAll(): Promise<void> {
    const { init, pod, id } = this.record.now;
    if (init !== undefined) await signalProcess(init, "SIGKILL");
    await this.#context.cgroups.kill(pod.uid, id);
    // A group does not list who is on the way out; until the init is out, the container's mounts keep their volumes busy.
    if (init !== undefined) await untilGone(init);
  }

  /** Waits for nothing of the container any more. */
  abort(): void {
    this.#closing.abort();
  }

  /** Nothing is written for the container any more. */
  async close(): Promise<void> {
    this.abort();
    await this.record.settled();
    await this.#stopKeeping();
  }

  /** Removes what runc and the kernel keep of a container that has ended. */
  async cleanUp(): Promise<void> {
    const { pod, id } = this.record.now;
    await this.#context.cleanUp();
    await this.#context.cgroups.remove(pod.uid, id);
  }

  /** A program that runs is not started again because something of its start is still there: that goes at its end. */
  async #removeOfStart(): Promise<void> {
    await this.#context.started().catch((error: unknown) => {
      this.#warn(error, "cannot remove yet what a start needed");
    });
  }

  async #watchToEnd(): Promise<void> {
    const { files, logFile } = this.#context;
    const seen = await waitForExit(files, await readMonitor(files), this.#next);
    afterExitSeen();
    await this.killAll();
    await this.#stopKeeping();
    const { startedAt = this.record.now.createdAt } = this.record.now;
    const exit = await explainExit(await this.#causeOf(seen), this.record.now, files, logFile);
    await this.record.save({
      startedAt,
      exit: { ...exit, ...(this.record.now.shutdown ? { shutdown: true } : {}) },
    });
    await this.cleanUp();
  }

  /** A SIGKILL that stood for the signal to end counts as that; another one may be of the kernel, which wanted memory. */
  async #causeOf(exit: ContainerExit): Promise<ContainerExit> {
    if (exit.code !== KILLED) return exit;
    const { stopSignal = SIGTERM, pod, id } = this.record.now;
    if (this.#terminated) return { ...exit, code: 128 + stopSignal };
    return (await this.#context.cgroups.outOfMemory(pod.uid, id)) ? { ...exit, reason: "OOMKilled" } : exit;
  }

  #warn(error: unknown, message: string): void {
    this.#context.logger.warn({ container: this.record.now.id, err: error }, message);
  }
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
