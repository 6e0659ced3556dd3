import type { CallContext } from "../calls/context.ts";
import type { Call, CallResponse, Interceptor, Next } from "../calls/interceptor.ts";
import { CsiError } from "../errors/csi-error.ts";
import { claimsOf } from "./claims.ts";
import { fingerprint } from "./fingerprint.ts";
import { type Claim, type Operation, OperationLocks } from "./locks.ts";

/** What `singleFlight` may be given. */
export interface SingleFlightOptions {
  /** Milliseconds since the epoch. */
  now?: () => number;
  /** What each call locks while it runs; default: `claimsOf`, the table for CSI. */
  claims?: (call: Call) => readonly Claim[];
}

/** Failures remembered for the messages of ABORTED; more would be a leak. */
const REMEMBERED = 1000;

/** An operation that callers wait for. */
interface Flight extends Operation {
  readonly stop: AbortController;
  readonly callers: Set<CallContext>;
  result: Promise<CallResponse>;
}

/**
 * At most one operation at a time on an object (section "Concurrency"): the same request again joins the one under
 * way and gets its response; another request gets ABORTED with what runs, for how long, and how it failed before. An
 * operation keeps its place until it really ends, also when callers have stopped waiting; it is stopped (its signal aborts)
 * when the last caller has.
 */
export function singleFlight(options: SingleFlightOptions = {}): Interceptor {
  const { now = Date.now, claims = claimsOf } = options;
  const locks = new OperationLocks();
  const failures = new Map<string, string>();

  function start(next: Next, call: Call, claimed: readonly Claim[], print: string): Flight {
    const stop = new AbortController();
    const callers = new Set<CallContext>();
    const flight: Flight = {
      description: describe(call),
      fingerprint: print,
      startedAt: now(),
      stop,
      callers,
      result: Promise.resolve(call.request),
    };
    const release = locks.take(claimed, flight);
    const context = { ...call.context, signal: stop.signal };
    // The handler sees the latest deadline of all callers, also of those that join later.
    Object.defineProperty(context, "deadline", { get: () => latestDeadline(callers) });
    flight.result = (async () => next({ ...call, context }))().finally(release);
    flight.result.then(
      () => failures.delete(flight.description),
      (error: unknown) => remember(failures, flight.description, error),
    );
    return flight;
  }

  return (next) => {
    const run: Next = async (call) => {
      const claimed = claims(call);
      if (claimed.length === 0) return next(call);
      const print = `${call.context.method} ${fingerprint(call.method.input, call.request)}`;
      // From reading to taking nothing else runs: there is no await in between.
      const blocker = locks.blocker(claimed) as Flight | undefined;
      if (blocker !== undefined && blocker.fingerprint !== print) throw pending(blocker, now(), failures);
      const flight = blocker ?? start(next, call, claimed, print);
      try {
        return await join(flight, call.context);
      } catch (error) {
        // The others gave the operation up before this caller joined: its failure is not this caller's response.
        const gaveUp = flight === blocker && flight.stop.signal.aborted && !call.context.signal.aborted;
        if (gaveUp) return run(call);
        throw error;
      }
    };
    return run;
  };
}

/** Waits for an operation as long as this caller does. The last one to leave stops it. */
function join(flight: Flight, context: CallContext): Promise<CallResponse> {
  const { signal } = context;
  flight.callers.add(context);
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      flight.callers.delete(context);
      if (flight.callers.size === 0) flight.stop.abort(signal.reason);
      reject(signal.reason);
    };
    if (signal.aborted) return leave();
    signal.addEventListener("abort", leave, { once: true });
    flight.result.then(resolve, reject).finally(() => signal.removeEventListener("abort", leave));
  });
}

function pending(running: Operation, now: number, failures: ReadonlyMap<string, string>): CsiError {
  const seconds = ((now - running.startedAt) / 1000).toFixed(1);
  const before = failures.get(running.description);
  const history = before === undefined ? "" : `; before, it failed with: ${before}`;
  return CsiError.aborted(`${running.description} is under way for ${seconds} s${history}`, {
    reason: "CSI_OPERATION_PENDING",
    hint: "try again later",
  });
}

function remember(failures: Map<string, string>, description: string, error: unknown): void {
  failures.delete(description);
  failures.set(description, error instanceof Error ? error.message : String(error));
  const oldest = failures.keys().next();
  if (failures.size > REMEMBERED && oldest.done !== true) failures.delete(oldest.value);
}

function latestDeadline(callers: ReadonlySet<CallContext>): Date | undefined {
  const all = [...callers].map(({ deadline }) => deadline);
  const times = all.filter((deadline) => deadline !== undefined).map((deadline) => deadline.getTime());
  return times.length < all.length || times.length === 0 ? undefined : new Date(Math.max(...times));
}

/** `DeleteVolume pvc-1`: the method, and the object it is about. */
function describe({ method, request }: Call): string {
  const ids = request as { volumeId?: string; snapshotId?: string; groupSnapshotId?: string; name?: string };
  const fields = request as unknown as Record<string, unknown>;
  const id = ids.volumeId ?? ids.snapshotId ?? ids.groupSnapshotId ?? fields.volumeGroupId ?? ids.name;
  return `${method.name} ${id ?? ""}`.trim();
}
