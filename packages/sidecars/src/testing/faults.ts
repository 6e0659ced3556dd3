import { CsiError } from "@mooring/csi";
import { defined } from "@mooring/store";

/** One thing that goes wrong. */
export interface Fault {
  /** Method name as in the specification: `CreateVolume`. */
  method: string;
  /** gRPC number of the response; absent: the response is right. */
  code?: number;
  message?: string;
  /** `CsiError.reason` of the response. */
  reason?: string;
  /** The operation takes effect before the wrong response. */
  effect?: boolean;
  /** Milliseconds until the response. */
  delayMs?: number;
  /** The operation takes effect, and its response waits until then. */
  until?: Promise<unknown>;
  /** How many calls it hits; default 1. */
  times?: number;
  /** Hits only calls for which this is true. */
  when?: (request: object) => boolean;
}

/** Faults to come, first in first out per method. */
export class FaultPlan {
  readonly #faults: Fault[] = [];

  add(fault: Fault): void {
    this.#faults.push({ times: 1, ...fault });
  }

  clear(): void {
    this.#faults.length = 0;
  }

  /** Runs an operation as the plan wants it to go. */
  async play<T>(method: string, request: object, signal: AbortSignal, operation: () => T): Promise<T> {
    const fault = this.#take(method, request);
    if (fault === undefined) return operation();
    const result = fault.effect === true || fault.code === undefined ? operation() : undefined;
    if (fault.until !== undefined) await fault.until;
    if (fault.delayMs !== undefined) await sleep(fault.delayMs, signal);
    if (fault.code !== undefined) throw asError(fault.code, fault);
    return result as T;
  }

  #take(method: string, request: object): Fault | undefined {
    const index = this.#faults.findIndex(
      (fault) => fault.method === method && (fault.when?.(request) ?? true),
    );
    const fault = this.#faults[index];
    if (fault === undefined) return undefined;
    fault.times = (fault.times ?? 1) - 1;
    if (fault.times <= 0) this.#faults.splice(index, 1);
    return fault;
  }
}

function asError(code: number, { method, message = `${method} fails`, reason }: Fault): CsiError {
  return new CsiError(code as CsiError["code"], message, defined({ reason }));
}

function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
