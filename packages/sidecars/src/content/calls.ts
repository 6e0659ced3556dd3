import { Backoff } from "../common/backoff.ts";
import type { SidecarContext } from "../common/context.ts";
import { rfc3339 } from "../common/time.ts";
import { Uncertainty } from "../common/uncertainty.ts";
import { callFailure, isUncertain, minBackoff } from "../csi/codes.ts";
import type { ObjectCache } from "../kube/cache.ts";
import { patchStatus } from "../kube/patch.ts";
import type { ContentResult, ContentTypes } from "./kind.ts";

/** Longest time between two calls that ask whether the data are ready, in milliseconds. */
const LONGEST_POLL_MS = 15_000;

/**
 * The calls that a controller makes to the driver for contents, and what it remembers of them from one read of a content
 * to the next: results, back-off, and whether a call may have had an effect that the driver has not confirmed. All by UID.
 */
export class ContentCalls<T extends ContentTypes> {
  readonly #context: SidecarContext;
  readonly #cache: ObjectCache<T["content"]>;
  readonly #signal: AbortSignal;
  readonly results = new Map<string, ContentResult<T>>();
  readonly uncertainty = new Uncertainty();
  /** After failures. */
  readonly backoff: Backoff;
  /** Between calls about what is not ready yet: less and less often, but never as rarely as what fails. */
  readonly polls: Backoff;

  constructor(context: SidecarContext, cache: ObjectCache<T["content"]>, signal: AbortSignal) {
    this.#context = context;
    this.#cache = cache;
    this.#signal = signal;
    const { retry, now } = context;
    this.backoff = Backoff.of(context);
    this.polls = new Backoff({ ...retry, maxMs: Math.min(retry.maxMs, LONGEST_POLL_MS), now });
  }

  /** Of one call. */
  get options(): { signal: AbortSignal; timeoutMs: number } {
    return { signal: this.#signal, timeoutMs: this.#context.timeoutMs };
  }

  /** The content is gone. */
  forget(uid: string): void {
    this.results.delete(uid);
    this.backoff.reset(uid);
    this.polls.reset(uid);
    this.uncertainty.settle(uid);
    this.#context.asked?.forget(uid);
  }

  /** The driver is asked for the data now. */
  ask({ metadata: { uid = "" } }: T["content"]): void {
    const { asked, now } = this.#context;
    asked?.ask(uid, now());
  }

  /** The data are ready. */
  finished(uid: string): void {
    this.polls.reset(uid);
    this.#context.asked?.forget(uid);
  }

  /** One call to the driver: its result, or its failure, is kept until the next step has used it. */
  async make(
    content: T["content"],
    { requestKey, reason }: { requestKey: string; reason: string },
    call: () => Promise<ContentResult<T>>,
  ): Promise<void> {
    const { name, uid = "" } = content.metadata;
    try {
      this.results.set(uid, await call());
    } catch (error) {
      if (this.#signal.aborted) throw error;
      const failure = callFailure(error);
      const { retry, logger } = this.#context;
      this.results.set(uid, { kind: "failed", failure });
      if (isUncertain(failure)) this.uncertainty.note(uid);
      this.backoff.fail(uid, requestKey, minBackoff(failure, retry.infeasibleMs));
      logger.warn({ content: name, code: failure.code, error: failure.message }, reason);
      await this.complain(content, reason, failure.message);
    }
  }

  /** Written once per error, not once per attempt. */
  async complain(content: T["content"], reason: string, message: string): Promise<void> {
    const { events, now, store } = this.#context;
    events.event(content, "Warning", reason, message);
    if (content.status?.error?.message === message) return;
    const error = { message, time: rfc3339(now()) };
    const readyToUse = content.status?.readyToUse ?? false;
    await patchStatus(store, this.#cache, content, { readyToUse, error });
  }
}
