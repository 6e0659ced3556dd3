import { setImmediate as nextTurn } from "node:timers/promises";
import type { KubeObject } from "../../object/meta.ts";
import { keyOf } from "../../object/resource.ts";
import { isConflict } from "../../object/status-error.ts";
import { type Logger, silentLogger } from "../../runtime/logger.ts";
import { allowManyListeners, backoffMs, delay } from "../../runtime/wait.ts";
import { WorkQueue } from "../work-queue.ts";
import { AheadOfEvents } from "./ahead.ts";
import { type Due, enlist } from "./at-rest.ts";
import {
  type ReadContext,
  type ReconcileContext,
  ReconcileFailure,
  type ReconcilerOptions,
  type WatchedInformer,
} from "./contract.ts";
import { countEndless, countsOf, queueCountsOf } from "./metrics.ts";
import { DONE, isOutcome, type Outcome, stepName } from "./outcome.ts";
import { type Pass, ReadTracker } from "./read-tracker.ts";
import { createReader } from "./reader.ts";
import { keepResyncing } from "./resync.ts";
import type { ControllerSource } from "./source.ts";

const MOST_STEPS = 40;
const MOST_CONFLICTS = 8;
const CONFLICT_BACKOFF = { baseMs: 2, maxMs: 200 };
/** How long decisions without any I/O may follow each other before everybody else gets a turn. */
const TURN_MS = 10;

/**
 * Runs a controller (see {@link ReconcilerOptions}): takes every key to an outcome once all informers are synced, and
 * again whenever something changes that its last read covered.
 */
export class Reconciler<View, Step extends { do: string }> {
  readonly name: string;
  readonly #options: ReconcilerOptions<View, Step>;
  readonly #logger: Logger;
  readonly #queue: WorkQueue;
  readonly #tracker: ReadTracker;
  readonly #counts;
  /** The last read of each key. */
  readonly #passes = new Map<string, Pass>();
  readonly #running = new Set<string>();
  /** Keys whose step waits for another to act, and comes again by time. */
  readonly #deferred = new Set<string>();
  #begun = false;
  #taken = 0;
  #turnBegan = performance.now();
  #signal = new AbortController().signal;

  constructor(options: ReconcilerOptions<View, Step>) {
    this.name = options.name;
    this.#options = options;
    this.#logger = (options.logger ?? silentLogger).child({ controller: options.name });
    this.#queue = new WorkQueue({ ...options.backoff, counts: queueCountsOf(options.name) });
    this.#counts = countsOf(options.name);
    this.#tracker = new ReadTracker(options.name, this.#informers, (pass) => this.#wake(pass));
  }

  get store(): unknown {
    return this.#options.store;
  }

  /** Asks for a key, for those who know of something that `read` cannot note. */
  add(key: string, afterMs = 0): void {
    if (afterMs > 0) this.#queue.addAfter(key, afterMs);
    else this.#queue.add(key);
  }

  /** What reads have noted as this topic has changed. */
  changed(topic: string): void {
    this.#tracker.changed(topic);
  }

  /** Works until the signal aborts; resolves when the last step has ended. */
  async run(signal: AbortSignal): Promise<void> {
    const { sources, concurrency = 4, resyncMs } = this.#options;
    this.#signal = signal;
    const close = () => this.#queue.close();
    allowManyListeners(signal);
    signal.addEventListener("abort", close, { once: true });
    const stops = [enlist(this), () => this.#tracker.stop(), ...sources.map((each) => this.#follow(each))];
    try {
      await Promise.all(this.#informers.map((informer) => informer.synced(signal)));
      for (const key of this.#due()) this.#queue.add(key);
      this.#begun = true;
      await Promise.all([this.#workAtMost(concurrency), keepResyncing(this, signal, resyncMs)]);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      for (const stop of stops) stop();
      signal.removeEventListener("abort", close);
      close();
    }
  }

  /** All keys that there are. */
  keys(): Set<string> {
    return this.#keysWhere(() => true);
  }

  /** It has begun, and nothing is ready or under way. */
  get idle(): boolean {
    return this.#begun && this.#queue.idle;
  }

  /** Grows with every key that is taken up. */
  get taken(): number {
    return this.#taken;
  }

  get backlog(): { ready: number; oldestMs: number; activeMs: readonly number[] } {
    const { activeMs, length: ready, oldestMs } = this.#queue;
    return { ready, oldestMs: Math.round(oldestMs), activeMs };
  }

  passOf(key: string): unknown {
    return this.#passes.get(key);
  }

  /** The step that is due for a key that nothing has asked for; reads and decides, and changes nothing. */
  async forgotten(key: string): Promise<Due | undefined> {
    const isPlanned = () => this.#queue.isPlanned(key);
    const isComing = () =>
      this.#queue.isBusy(key) || this.#queue.failures(key) > 0 || (this.#deferred.has(key) && isPlanned());
    // A controller that has not begun, or is ending, leaves all to those that run.
    if (!this.#begun || this.#signal.aborted || isComing()) return undefined;
    const pass = this.#passes.get(key);
    const ahead = new AheadOfEvents(this.#informers);
    const reader = createReader(this.#options.store, ahead);
    const context = readContext(this.#context(key), { reader, fresh: false, dry: true });
    const view = await this.#options.read(key, context);
    if (view === undefined) return undefined;
    const step = this.#options.decide(view);
    if (isOutcome(step) || isComing() || this.#passes.get(key) !== pass) return undefined;
    const { polls = [] } = this.#options as { polls?: readonly string[] };
    if (polls.includes(step.do) && isPlanned()) return undefined;
    return { step, awaitsEvent: ahead.found };
  }

  /** A resync has found it forgotten. */
  found(key: string, step: { do: string }): void {
    this.#counts.resyncFound += 1;
    this.#logger.error({ key, step: stepName(step) }, "a resync found work that no event had asked for");
    this.#queue.add(key);
  }

  get #informers(): readonly WatchedInformer[] {
    const { sources, watched = [] } = this.#options;
    return [...sources.map(({ informer }) => informer), ...watched];
  }

  /** Those from which a step may follow. */
  #due(): Set<string> {
    return this.#keysWhere(({ matters }, object) => matters?.(object) !== false);
  }

  #keysWhere(isMeant: (source: ControllerSource, object: KubeObject) => boolean): Set<string> {
    const keys = new Set([...this.#passes.keys(), ...(this.#options.keys?.() ?? [])]);
    for (const source of this.#options.sources) {
      for (const object of source.informer.list()) {
        if (!isMeant(source, object)) continue;
        for (const key of this.#keysOf(source, object)) keys.add(key);
      }
    }
    return keys;
  }

  #follow(source: ControllerSource): () => void {
    const { informer } = source;
    const changed = (object: KubeObject | undefined): void => {
      if (object === undefined || source.matters?.(object) === false) return;
      const name = keyOf(object);
      for (const key of this.#keysOf(source, object)) {
        const pass = this.#passes.get(key);
        // A pass that has read the object itself is woken by what it has read, if that has changed.
        if (pass?.sawObject(informer, name) === true) continue;
        if (pass === undefined) this.#queue.add(key);
        else this.#wake(pass);
      }
    };
    return informer.onChange((old, current) => {
      changed(old);
      changed(current);
    });
  }

  #keysOf({ keys }: ControllerSource, object: KubeObject): string[] {
    try {
      return keys(object);
    } catch (error) {
      this.#logger.error({ err: error, name: object.metadata.name }, "cannot map a change to keys");
      return [];
    }
  }

  #wake(pass: Pass): void {
    pass.stale = true;
    // Under way: whether another read has seen the change shows in the end.
    if (!this.#running.has(pass.key)) this.#queue.add(pass.key);
  }

  /** Another worker waits for a key only when this one has got its first: a kubelet may have thousands, and needs two mostly. */
  async #workAtMost(workers: number): Promise<void> {
    const key = await this.#queue.take();
    if (key === undefined) return;
    await Promise.all([this.#work(key), workers > 1 ? this.#workAtMost(workers - 1) : undefined]);
  }

  async #work(first: string): Promise<void> {
    for (let key: string | undefined = first; key !== undefined; key = await this.#queue.take()) {
      if (this.#signal.aborted) return;
      await this.#giveTurn();
      this.#running.add(key);
      this.#deferred.delete(key);
      this.#taken += 1;
      try {
        const outcome = await this.#converge(key);
        this.#queue.forget(key);
        this.#counts.reconciled += 1;
        if (outcome.do === "wait" && outcome.afterMs !== undefined)
          this.#queue.addAfter(key, outcome.afterMs);
      } catch (error) {
        if (!this.#signal.aborted) await this.#failed(key, error);
      } finally {
        this.#running.delete(key);
        if (this.#passes.get(key)?.stale === true) this.#queue.add(key);
        this.#queue.done(key);
      }
    }
  }

  /** Read, decide, take one step, read again. Throws the error of a step or a `fail`. */
  async #converge(key: string): Promise<Outcome> {
    const {
      decide,
      apply,
      mostSteps = MOST_STEPS,
      isOutdated = isConflict,
      isGone,
      waitsFor,
      failpoints,
    } = this.#options;
    const context = this.#context(key);
    let conflicts = 0;
    const taken: string[] = [];
    let fresh = false;
    for (let steps = 0; steps < mostSteps; steps++) {
      this.#signal.throwIfAborted();
      const view = await this.#read(key, context, fresh);
      const step = view === undefined ? DONE : decide(view);
      if (view === undefined || isOutcome(step)) {
        if (view !== undefined && step.do === "done" && isGone?.(view) === true) this.#forget(key);
        return this.#end(key, context, step as Outcome);
      }
      this.#counts.steps += 1;
      taken.push(stepName(step));
      try {
        const outcome = await apply(step as Exclude<Step, Outcome>, view, context);
        failpoints(step as Exclude<Step, Outcome>);
        fresh = false;
        if (outcome !== undefined) {
          this.#forget(key);
          return this.#end(key, context, outcome);
        }
      } catch (error) {
        const waiting = waitsFor?.(error);
        if (waiting !== undefined) {
          this.#deferred.add(key);
          return waiting;
        }
        if (!isOutdated(error) || conflicts >= MOST_CONFLICTS) throw error;
        // Another client wrote between our read and our write: decide again on what it wrote.
        conflicts += 1;
        fresh = true;
        this.#counts.conflicts += 1;
        await delay(backoffMs(conflicts, CONFLICT_BACKOFF), this.#signal);
      }
    }
    // Two parts undo each other's work, or a step does not do what it is named for: only the names show which.
    const message = `no rest after ${mostSteps} steps; the last ones: ${taken.slice(-8).join(", ")}`;
    countEndless(this.name, key, message);
    throw new ReconcileFailure({ do: "fail", code: "ABORTED", message });
  }

  async #end(key: string, context: ReconcileContext, outcome: Outcome): Promise<Outcome> {
    const { errorOf, ended } = this.#options;
    if (outcome.do === "fail") throw errorOf?.(outcome) ?? new ReconcileFailure(outcome);
    await ended?.(key, context);
    return outcome;
  }

  async #read(key: string, context: ReconcileContext, fresh: boolean): Promise<View | undefined> {
    const before = this.#passes.get(key);
    const pass = this.#tracker.begin(key);
    this.#passes.set(key, pass);
    const reader = createReader(this.#options.store, pass.notes);
    let view: View | undefined;
    try {
      view = await this.#options.read(key, readContext(context, { reader, fresh }));
    } finally {
      before?.forget();
    }
    // Nothing is there: the source of the key brings it back.
    if (view === undefined && pass.foundNothing) this.#forget(key);
    return view;
  }

  /** Unless something has come meanwhile. */
  #forget(key: string): void {
    const pass = this.#passes.get(key);
    if (pass === undefined || pass.stale) return;
    pass.forget();
    this.#passes.delete(key);
  }

  async #failed(key: string, error: unknown): Promise<void> {
    this.#counts.failures += 1;
    try {
      await this.#options.failed?.(key, error, this.#context(key));
    } catch (cause) {
      if (!this.#signal.aborted) this.#logger.warn({ key, err: cause }, "cannot report a failure");
    }
    const retryMs = Math.round(this.#queue.retry(key));
    const fields = { key, err: error, failures: this.#queue.failures(key), retryMs };
    // Another client was faster: the next read sees what it wrote.
    if (isConflict(error)) this.#logger.debug(fields, "the object changed meanwhile");
    else this.#logger.warn(fields, "reconciliation failed; trying again");
  }

  async #giveTurn(): Promise<void> {
    if (performance.now() - this.#turnBegan < TURN_MS) return;
    await nextTurn();
    this.#turnBegan = performance.now();
  }

  #context(key: string): ReconcileContext {
    return new KeyContext(this.#signal, this.#logger, key);
  }
}

/** Most keys log nothing: the logger of one is made when it is asked for. */
class KeyContext implements ReconcileContext {
  readonly signal: AbortSignal;
  readonly #parent: Logger;
  readonly #key: string;
  #logger: Logger | undefined;

  constructor(signal: AbortSignal, parent: Logger, key: string) {
    this.signal = signal;
    this.#parent = parent;
    this.#key = key;
  }

  get logger(): Logger {
    this.#logger ??= this.#parent.child({ key: this.#key });
    return this.#logger;
  }
}

function readContext(
  context: ReconcileContext,
  more: Omit<ReadContext, keyof ReconcileContext>,
): ReadContext {
  return {
    ...more,
    signal: context.signal,
    get logger() {
      return context.logger;
    },
  };
}
