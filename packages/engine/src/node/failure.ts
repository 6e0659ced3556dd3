import { isStatus, type KubeObject, mutate, type Resource } from "@mooring/store";
import type { Attempts } from "../api/attempts.ts";
import { asRecorded, type RecordedError } from "../errors.ts";
import type { AgentContext } from "./context.ts";

interface WithError extends KubeObject {
  status?: { error?: RecordedError } & Attempts;
}

/**
 * Puts a failure where operators and the driver read it: `status.error` and a warning event. `blank` is the status of an
 * object that has none yet; `count` keeps the number of failures, for those who wait longer after each. Failures of the
 * store itself are not an object's fault and stay out.
 */
export async function reportFailure<T extends WithError>(
  context: AgentContext,
  { resource, name }: { resource: Resource<T>; name: string },
  error: unknown,
  {
    blank,
    options: { count = false } = {},
  }: { blank: NonNullable<T["status"]>; options?: { count?: boolean } },
): Promise<void> {
  if (context.signal.aborted || isStatus(error)) return;
  const recorded = asRecorded(error);
  try {
    const { signal } = context;
    const failedAt = context.host.clock.now().toISOString();
    const put = (object: T): T => {
      const status = { ...(object.status ?? blank), error: recorded };
      const counted = { ...status, failures: (object.status?.failures ?? 0) + 1, failedAt };
      return { ...object, status: count ? counted : status };
    };
    const object = await mutate(
      context.store,
      resource,
      { name },
      { change: put, subresource: "status", signal },
    );
    context.events.event(object, "Warning", reasonOf(recorded.code), recorded.message);
  } catch (cause) {
    context.logger.warn({ err: cause, name, failure: recorded }, "cannot record a failure");
  }
}

/** `RESOURCE_EXHAUSTED` -> `ResourceExhausted` */
function reasonOf(code: string): string {
  return code
    .toLowerCase()
    .split("_")
    .map((part) => part.slice(0, 1).toUpperCase() + part.slice(1))
    .join("");
}
