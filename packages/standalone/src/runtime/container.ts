import { rm } from "node:fs/promises";
import { delay, firstOf } from "@mooring/store";
import type { ContainerFiles, ContainerRecord } from "./container-files.ts";
import type { StartedMonitor } from "./launcher.ts";
import { trimMessage, type WhileStill } from "./log-limit.ts";
import { keepStamps } from "./log-stamps.ts";
import type { ContainerStatus, StopOptions } from "./runtime.ts";
import { type ContainerContext, Supervision } from "./supervision.ts";
import { whileChanging } from "./while-changing.ts";

const STILL_AGAIN_MS = 30_000;
/** How long a graceful stop waits for a start that is under way. */
const START_MS = 10_000;

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

/** Takes charge of a container that was launched (`monitor`) or found (no monitor), and waits until its start is decided. */
export async function superviseContainer(
  initial: ContainerRecord,
  context: ContainerContext,
  monitor?: StartedMonitor,
): Promise<Container> {
  const { files, logFile, cgroups } = context;
  const { id, pod } = initial;
  // A Mooring process that was killed may have left the container frozen.
  if (monitor === undefined) await cgroups.resume(pod.uid, id);
  const whileStill = patiently((work) => cgroups.whileStill(pod.uid, id, work));
  const stopKeeping = await keepFiles(files, logFile, whileStill);
  const life = new Supervision(initial, context, stopKeeping, monitor);
  try {
    if (monitor !== undefined) await life.start();
  } catch (error) {
    await life.close();
    throw error;
  }
  const { record } = life;
  const starting =
    monitor === undefined && record.now.exit === undefined && record.now.startedAt === undefined;
  const decided = starting ? life.goOn() : Promise.resolve();
  const untilEnded =
    record.now.exit === undefined ? decided.then(() => life.untilEnded()) : Promise.resolve();
  const ended = untilEnded.finally(() => life.abort());
  return {
    status: () => record.status(),
    record: () => record.now,
    ended,
    stop: (options) => stopContainer(life, decided, ended, options),
    async release() {
      life.abort();
      await ended;
      await life.close();
    },
    async forget() {
      await life.close();
      await life.cleanUp();
      for (const suffix of ["", ".times", ".begin"]) await rm(`${logFile}${suffix}`, { force: true });
      await rm(files.folder, { recursive: true, force: true });
    },
  };
}

/** `decided`: whether its program runs. */
async function stopContainer(
  life: Supervision,
  decided: Promise<void>,
  ended: Promise<void>,
  { graceMs, signal, shutdown }: StopOptions,
): Promise<void> {
  const { record } = life;
  if (record.now.exit === undefined && shutdown) await record.save({ shutdown });
  if (record.now.exit === undefined && graceMs > 0) await atMost(decided, START_MS, signal);
  if (record.now.exit === undefined && graceMs > 0 && record.now.init !== undefined) {
    await life.terminate(record.now.init);
    await atMost(ended, graceMs, signal);
  }
  if (record.now.exit === undefined) await life.killAll();
  // What a start brought forth after that would run on.
  await decided;
  if (record.now.exit === undefined) await life.killAll();
  await ended;
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

async function atMost(done: Promise<void>, milliseconds: number, signal?: AbortSignal): Promise<void> {
  const over = new AbortController();
  const signals = signal === undefined ? [over.signal] : [over.signal, signal];
  const late = firstOf(signals, (first) => delay(milliseconds, first)).catch(() => {});
  await Promise.race([done, late]);
  over.abort();
}
