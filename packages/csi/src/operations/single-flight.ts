import { type Message, toBinary } from "@bufbuild/protobuf";
import { CsiError } from "../errors/csi-error.ts";
import type { CallContext } from "../server/context.ts";
import type { Call, Interceptor } from "../server/interceptor.ts";
import { claimsOf } from "./claims.ts";
import { type Operation, OperationLocks } from "./locks.ts";

export interface SingleFlightOptions {
  /** Milliseconds since the epoch. */
  now?: () => number;
}

/** Failures remembered for the messages of ABORTED; more would be a leak. */
const REMEMBERED = 1000;

interface Flight extends Operation {
  result: Promise<Message>;
  callers: number;
  stop: AbortController;
}

function describe(call: Call): string {
  const { name, volumeId, snapshotId } = call.request as {
    name?: string;
    volumeId?: string;
    snapshotId?: string;
  };
  return `${call.method.name} ${volumeId ?? snapshotId ?? name ?? ""}`.trim();
}

/**
 * At most one operation at a time on an object (section "Concurrency"): the same request again joins the one under
 * way and gets its answer; another request gets ABORTED with what runs, for how long, and how it failed before. An
 * operation keeps its place until it really ends, whoever has stopped waiting; it is told to stop (its signal aborts)
 * when nobody waits any more.
 */
export function singleFlight({ now = Date.now }: SingleFlightOptions = {}): Interceptor {
  const locks = new OperationLocks();
  const failures = new Map<string, string>();

  function refuse(flight: Operation): never {
    const seconds = ((now() - flight.startedAt) / 1000).toFixed(1);
    const before = failures.get(flight.description);
    throw CsiError.aborted(
      `${flight.description} is under way for ${seconds} s${before === undefined ? "" : `; before, it failed with ${before}`}`,
      { reason: "CSI_OPERATION_PENDING", hint: "try again later" },
    );
  }

  return (next) => async (call) => {
    const claims = claimsOf(call.context.method, call.request);
    if (claims.length === 0) return next(call);
    const fingerprint = `${call.context.method} ${Buffer.from(toBinary(call.method.input, call.request)).toString("base64")}`;
    const blocker = locks.blocker(claims) as Flight | undefined;
    if (blocker !== undefined)
      return blocker.fingerprint === fingerprint ? join(blocker, call.context) : refuse(blocker);
    const stop = new AbortController();
    const flight: Flight = {
      description: describe(call),
      fingerprint,
      startedAt: now(),
      callers: 0,
      stop,
      result: Promise.resolve(call.request),
    };
    const release = locks.take(claims, flight);
    flight.result = next({ ...call, context: { ...call.context, signal: stop.signal } }).finally(release);
    flight.result.then(
      () => failures.delete(flight.description),
      (error: unknown) => {
        if (failures.size >= REMEMBERED) failures.clear();
        failures.set(flight.description, error instanceof Error ? error.message : String(error));
      },
    );
    return join(flight, call.context);
  };
}

/** Waits for the operation as long as this caller does. */
function join(flight: Flight, { signal }: CallContext): Promise<Message> {
  flight.callers += 1;
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      flight.callers -= 1;
      if (flight.callers === 0) flight.stop.abort(signal.reason);
      reject(signal.reason);
    };
    if (signal.aborted) return leave();
    signal.addEventListener("abort", leave, { once: true });
    const done = (): void => signal.removeEventListener("abort", leave);
    flight.result.then(
      (answer) => {
        done();
        resolve(answer);
      },
      (error) => {
        done();
        reject(error);
      },
    );
    return undefined;
  });
}
