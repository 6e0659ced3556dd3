import type { NodeBarrier } from "../../api/group-snapshot.ts";
import { asRecorded, EngineError } from "../../errors.ts";
import type { BarrierReport, BarrierSteps } from "./barrier-steps.ts";

type SessionPhase = NodeBarrier["phase"];

/** A barrier under way in this process. What it has reached is reported on the object, and lost with the process. */
export class Session {
  readonly attempt: number;
  readonly #barrier: BarrierSteps;
  readonly #deadlineMs: number;
  readonly #wake: () => void;
  #timer: NodeJS.Timeout | undefined;
  #busy = false;
  #expired = false;
  phase: SessionPhase | "begun" = "begun";
  error: { code: string; message: string } | undefined;
  report: BarrierReport | undefined;

  /** `wake` is called when the time of the barrier is over before the others were ready. */
  constructor(attempt: number, barrier: BarrierSteps, deadlineSeconds: number, wake: () => void) {
    this.attempt = attempt;
    this.#barrier = barrier;
    this.#deadlineMs = deadlineSeconds * 1000;
    this.#wake = wake;
  }

  async prepare(): Promise<void> {
    await this.#step("prepared", () => this.#barrier.prepare());
  }

  async quiesce(): Promise<void> {
    await this.#step("quiesced", () => this.#barrier.quiesce());
    if (this.phase === "quiesced") this.#timer = setTimeout(() => void this.#expire(), this.#deadlineMs);
  }

  async copy(): Promise<void> {
    await this.#step("cut", () => this.#barrier.copy());
  }

  async release(): Promise<void> {
    await this.#step("done", async () => {
      await this.#barrier.release();
      this.report = await this.#barrier.finish();
    });
  }

  /** The whole barrier, when no other node has to be waited for. */
  async run(): Promise<void> {
    await this.quiesce();
    if (this.phase === "quiesced") await this.copy();
    if (this.phase === "cut") await this.release();
  }

  /** All writers go on by then anyway; here it is found out, when no other step does. */
  async #expire(): Promise<void> {
    // A session that is still at a step of its own reports its own phase when that is over.
    this.#expired = true;
    if (this.#busy || (this.phase !== "quiesced" && this.phase !== "cut")) return;
    const late = this.phase === "quiesced" ? "come to a stop" : "copy their volumes";
    await this.#fail(new EngineError("DEADLINE_EXCEEDED", `the other nodes did not ${late} in time`));
    this.#wake();
  }

  /** Removes what is not done; a barrier that is done leaves its images. */
  async drop(): Promise<void> {
    clearTimeout(this.#timer);
    if (this.phase !== "done" && this.phase !== "failed") await this.#barrier.abandon();
  }

  /** A step that fails ends the session and lets all writers go on; the failure is for the object. */
  async #step(next: SessionPhase, work: () => Promise<void>): Promise<void> {
    this.#busy = true;
    try {
      await work();
      this.phase = next;
    } catch (error) {
      await this.#fail(error);
    } finally {
      this.#busy = false;
    }
    if (this.phase === "done" || this.phase === "failed") clearTimeout(this.#timer);
    else if (this.#expired) await this.#fail(this.#barrier.late());
  }

  /** Never rejects: what could not be undone is reported with the failure, and no writer waits for a timer. */
  async #fail(error: unknown): Promise<void> {
    const first = asRecorded(error);
    this.error = first;
    this.phase = "failed";
    await this.#barrier.abandon().catch((left: unknown) => {
      this.error = { ...first, message: `${first.message}; then ${asRecorded(left).message}` };
    });
  }
}

/** The sessions of this process, by group. */
export class Sessions {
  readonly #sessions = new Map<string, Session>();
  readonly #listeners = new Set<(group: string) => void>();

  /** Called with the group of a session whose time was over. */
  onExpired(listener: (group: string) => void): void {
    this.#listeners.add(listener);
  }

  expired(group: string): void {
    for (const listener of this.#listeners) listener(group);
  }

  get(group: string): Session | undefined {
    return this.#sessions.get(group);
  }

  set(group: string, session: Session): void {
    this.#sessions.set(group, session);
  }

  async drop(group: string): Promise<void> {
    const session = this.#sessions.get(group);
    await session?.drop();
    this.#sessions.delete(group);
  }

  /** True while images of the group may appear. */
  has(group: string): boolean {
    return this.#sessions.has(group);
  }

  async dropAll(): Promise<void> {
    for (const group of [...this.#sessions.keys()]) await this.drop(group);
  }
}
