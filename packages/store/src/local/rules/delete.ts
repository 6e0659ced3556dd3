import { isDeepStrictEqual } from "node:util";
import type { UnstructuredObject } from "../../object/meta.ts";
import type { DeleteOptions } from "../../object-store.ts";
import { type Decision, type RuleContext, timestamp } from "./context.ts";
import { hasSpecFinalizers, withTerminatingPhase } from "./namespace.ts";
import { checkPreconditions } from "./update.ts";

/** What the garbage collector removes when it has dealt with the dependents. */
const PROPAGATION_FINALIZER = { Foreground: "foregroundDeletion", Orphan: "orphan" } as const;

/** Gone at once, or marked and waiting for its finalizers or its grace period. `now`: milliseconds. */
export function decideDelete(
  current: UnstructuredObject,
  options: DeleteOptions,
  context: RuleContext,
  now: number,
): Decision {
  const { definition } = context;
  checkPreconditions(definition.resource, current, options.preconditions ?? {});
  const finalizers = finalizersFor(current.metadata.finalizers ?? [], options.propagationPolicy);
  const grace = graceSeconds(current, options, definition.strategy?.gracefulDelete?.(current, options) ?? 0);
  if (finalizers.length === 0 && grace === 0 && !hasSpecFinalizers(current))
    return { action: "remove", object: current };
  const next = withTerminatingPhase(marked(current, finalizers, grace, now));
  return isDeepStrictEqual(next, current)
    ? { action: "keep", object: current }
    : { action: "store", object: next };
}

function finalizersFor(present: string[], policy: DeleteOptions["propagationPolicy"]): string[] {
  if (policy === undefined) return present;
  const others = present.filter((name) => !Object.values<string>(PROPAGATION_FINALIZER).includes(name));
  return policy === "Background" ? others : [...others, PROPAGATION_FINALIZER[policy]];
}

/** A period that runs can be made shorter, never longer. */
function graceSeconds(current: UnstructuredObject, options: DeleteOptions, wanted: number): number {
  const running =
    current.metadata.deletionTimestamp === undefined
      ? undefined
      : current.metadata.deletionGracePeriodSeconds;
  if (running === undefined) return wanted;
  return options.gracePeriodSeconds === undefined ? running : Math.min(running, wanted);
}

function marked(
  current: UnstructuredObject,
  finalizers: string[],
  grace: number,
  now: number,
): UnstructuredObject {
  const metadata = { ...current.metadata };
  if (finalizers.length > 0) metadata.finalizers = finalizers;
  else delete metadata.finalizers;
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = metadata;
  if (deletionTimestamp !== undefined && metadata.deletionGracePeriodSeconds === grace)
    return { ...current, metadata };
  const askedAt =
    deletionTimestamp === undefined ? now : Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000;
  // A shorter period counts from the first delete, as in Kubernetes; one that is over by now leaves the least there is.
  const isOver = askedAt + grace * 1000 < now;
  metadata.deletionTimestamp = timestamp(isOver ? now : askedAt + grace * 1000);
  metadata.deletionGracePeriodSeconds = isOver ? Math.min(1, grace) : grace;
  if (deletionTimestamp === undefined && metadata.generation !== undefined) metadata.generation += 1;
  return { ...current, metadata };
}
