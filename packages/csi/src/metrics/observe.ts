import { type CodeName, codeName } from "../errors/codes.ts";
import { toCsiError } from "../errors/status.ts";
import type { Logger } from "../log/logger.ts";

/**
 * Called after every call; a place for metrics. `method` is the one that was called, for example
 * `csi.v0.Controller/CreateVolume`; `code` is gRPC's name, `OK` included.
 */
export type Observe = (call: { method: string; code: CodeName; milliseconds: number }) => void;

/** A running clock for one call; called when the call is over. */
type Report = (code: CodeName) => void;

function clock(method: string, observe: Observe | undefined, logger: Logger): Report {
  const start = performance.now();
  return (code) => {
    try {
      observe?.({ method, code, milliseconds: Math.round((performance.now() - start) * 1000) / 1000 });
    } catch (err) {
      // A fault of the observer must not fail the call that it counts.
      logger.error({ err }, "the observer of calls failed");
    }
  };
}

/** Does the work of one call and reports how it ended. Throws a `CsiError`, whatever the work threw. */
export async function observed<T>(
  method: string,
  observe: Observe | undefined,
  logger: Logger,
  work: () => Promise<T>,
): Promise<T> {
  const report = clock(method, observe, logger);
  let result: T;
  try {
    result = await work();
  } catch (thrown) {
    const error = toCsiError(thrown);
    report(error.codeName);
    throw error;
  }
  report(codeName(0));
  return result;
}

/** The same for a stream that is read here. A reader who leaves early has cancelled it. */
export async function* observedStream<T>(
  method: string,
  observe: Observe | undefined,
  logger: Logger,
  messages: AsyncIterable<T>,
): AsyncGenerator<T, void> {
  const report = clock(method, observe, logger);
  let code: CodeName = "CANCELLED";
  try {
    yield* messages;
    code = "OK";
  } catch (thrown) {
    code = toCsiError(thrown).codeName;
    throw thrown;
  } finally {
    report(code);
  }
}
