import {
  EventRecorder,
  type Informer,
  isAlreadyExists,
  isConflict,
  type KubeObject,
  keyOf,
  type Logger,
  type ObjectStore,
  type Outcome,
  Reconciler,
  type ReconcilerOptions,
  source,
} from "@mooring/store";

type Shared<View, Step extends { do: string }> = Required<
  Pick<ReconcilerOptions<View, Step>, "decide" | "failpoints" | "name" | "read" | "watched">
> &
  Pick<ReconcilerOptions<View, Step>, "ended">;

/** A controller of one kind of workload: each object of it is a key. */
export interface WorkloadController<T extends KubeObject, View, Step extends { do: string }>
  extends Shared<View, Step> {
  /** The source of its events. */
  component: string;
  objects: Informer<T>;
  /** Makes one visible change. */
  apply(step: Exclude<Step, Outcome>, view: View, events: EventRecorder): Promise<void>;
}

/** Where it runs. */
export interface WorkloadRun {
  store: ObjectStore;
  logger: Logger;
  signal: AbortSignal;
}

/** A workload has as many steps as pods are missing. */
const MOST_STEPS = 10_000;

/** Runs the controller; `done` settles when its last step has ended and its events are written. */
export function workloadController<T extends KubeObject, View, Step extends { do: string }>(
  { store, logger, signal }: WorkloadRun,
  { component, objects, apply, ...controller }: WorkloadController<T, View, Step>,
): { done: Promise<void> } {
  const events = new EventRecorder(store, { component, logger });
  const reconciler = new Reconciler<View, Step>({
    ...{ ...controller, store, logger, mostSteps: MOST_STEPS },
    sources: [source(objects, (object) => [keyOf(object)])],
    apply: (step, view) => apply(step, view, events),
    // A name that is taken shows in the next read.
    isOutdated: (error) => isConflict(error) || isAlreadyExists(error),
  });
  return { done: reconciler.run(signal).then(() => events.flush()) };
}
