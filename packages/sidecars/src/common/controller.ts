import {
  type ControllerSource,
  type DONE,
  isConflict,
  isStatus,
  type Outcome,
  Reconciler,
  type StepFailpoints,
  type WatchedInformer,
} from "@mooring/store";
import { FollowedCluster } from "../kube/followed-cluster.ts";
import type { SidecarContext } from "./context.ts";

/** DONE: what follows from the change asks for the key by itself, as of a `Reconciler`. */
// biome-ignore lint/suspicious/noConfusingVoidType: most steps have nothing to return
export type Applied = typeof DONE | void;

/** One controller of a driver: what it watches and reads, how it decides, and how it applies. */
export interface SidecarController<View, Step extends { do: string }> {
  name: string;
  /** Passed after every applied step. */
  failpoints: StepFailpoints<Step>;
  sources: readonly ControllerSource[];
  /** Whatever else `read` reads. */
  watched: readonly { informer: WatchedInformer }[];
  /** Default: as many as the driver is to be given. */
  concurrency?: number;
  /** Keys that no object stands for. */
  keys?: () => Iterable<string>;
  /**
   * Everything that a decision needs. What is read from the cluster of the context that it is given is noted, and a
   * change of it asks for the key again. `fresh`: an earlier step met an outdated picture, so ask the server itself.
   */
  read(key: string, context: SidecarContext, fresh: boolean): Promise<View> | View;
  /** The object of the key is not there: when nothing is to be done either, its sources alone bring it back. */
  isGone(view: View, key: string): boolean;
  /** Pure. */
  decide(view: View): Step | Outcome;
  /** Makes one externally visible change. */
  apply(step: Step, view: View, key: string): Promise<Applied>;
  /** Nothing is left to do, for now. */
  ended?(key: string): void;
}

/** A group has up to 100 members, and each takes a few steps. */
const MOST_STEPS = 500;

interface Keyed<View> {
  key: string;
  view: View;
}

/** The loop of one controller of a driver. Its `run` resolves when the signal aborts and the last step has ended. */
export function sidecarController<View, Step extends { do: string }>(
  context: SidecarContext,
  controller: SidecarController<View, Step>,
): Reconciler<Keyed<View>, Step | Outcome> {
  const { name, sources, keys, ended } = controller;
  const { store, logger } = context;
  return new Reconciler<Keyed<View>, Step | Outcome>({
    ...{ name, store, logger, sources, mostSteps: MOST_STEPS },
    ...(keys && { keys }),
    concurrency: controller.concurrency ?? context.concurrency,
    watched: controller.watched.map(({ informer }) => informer),
    async read(key, { reader, fresh }) {
      const cluster = new FollowedCluster(context.cluster, reader);
      return { key, view: await controller.read(key, { ...context, cluster }, fresh) };
    },
    isGone: ({ key, view }) => controller.isGone(view, key),
    decide: ({ view }) => controller.decide(view),
    // Sound: outcomes are not applied.
    apply: (step, { key, view }) => controller.apply(step as unknown as Step, view, key),
    failpoints: (step) => controller.failpoints(step as unknown as Step),
    isOutdated: isOutdatedPicture,
    ended: async (key) => ended?.(key),
  });
}

/** The object moved on, went away, or is being deleted and takes no more finalizers. */
function isOutdatedPicture(error: unknown): boolean {
  return isConflict(error) || isStatus(error, "NotFound", "AlreadyExists");
}
