import { isDeepStrictEqual } from "node:util";
import {
  type ControllerRevision,
  DONE,
  type Outcome,
  type PersistentVolumeClaim,
  type Pod,
  wait,
} from "@mooring/store";
import { isFinished } from "../pod-claims.ts";
import { availableInMs } from "../workloads/pods.ts";
import { sizeClaim } from "./claim-size.ts";
import { type ClaimStep, goesWithPod, ownClaim, type SetClaim } from "./claims.ts";
import { claimsOf, ordinalOf, ordinalsOf, podOf, revisionOf } from "./identity.ts";
import { maxUnavailableOf } from "./max-unavailable.ts";
import { equalRevision, inOrder, nextNumber, templateOf } from "./revisions.ts";
import type { Rollout, StatefulSetView } from "./rollout.ts";
import { type SetStatus, statusOf } from "./status.ts";

export type StatefulSetStep =
  | { do: "create-revision" }
  | { do: "adopt-revision"; revision: ControllerRevision }
  | { do: "count-collision" }
  | { do: "raise-revision"; revision: ControllerRevision; number: number }
  | { do: "delete-revision"; revision: ControllerRevision }
  | { do: "adopt-pod"; pod: Pod }
  | { do: "create-claim"; claim: PersistentVolumeClaim }
  | { do: "create-pod"; pod: Pod }
  | { do: "delete-pod"; pod: Pod; why: string }
  | { do: "write-status"; status: SetStatus }
  | ClaimStep;

type Next = StatefulSetStep | Outcome | undefined;

/** One change at a time. Upstream: stateful_set_control.go. */
export function decide(view: StatefulSetView): StatefulSetStep | Outcome {
  const { set } = view;
  if (set.metadata.deletionTimestamp !== undefined) return DONE;
  const [orphan] = view.orphanRevisions;
  if (orphan !== undefined) return { do: "adopt-revision", revision: orphan };
  const update = equalRevision(set, view.revisions);
  if (update === undefined) return beginRevision(view);
  const newest = inOrder(view.revisions).at(-1);
  if (newest !== undefined && newest !== update)
    return { do: "raise-revision", revision: update, number: nextNumber(view.revisions) };
  const rollout = { ...view, update, current: currentOf(view, update) };
  const next = workOn(rollout);
  // While what comes next is refused, the status goes on: `kubectl rollout status` waits for the generation in it.
  if (next !== undefined && next.do !== "wait" && !view.refused) return next;
  const status = statusOf(rollout);
  if (!isDeepStrictEqual(set.status ?? {}, status)) return { do: "write-status", status };
  return next ?? trim(rollout) ?? DONE;
}

function beginRevision({ nameTaken }: StatefulSetView): StatefulSetStep {
  return nameTaken ? { do: "count-collision" } : { do: "create-revision" };
}

function currentOf({ set, revisions }: StatefulSetView, update: ControllerRevision): ControllerRevision {
  return revisions.find(({ metadata }) => metadata.name === set.status?.currentRevision) ?? update;
}

function workOn(rollout: Rollout): Next {
  const { set, orphans } = rollout;
  const [orphan] = orphans;
  if (orphan !== undefined) return { do: "adopt-pod", pod: orphan };
  const inTurn = set.spec?.podManagementPolicy !== "Parallel";
  const podAt = new Map(rollout.owned.map((pod) => [ordinalOf(set, pod) ?? -1, pod]));
  const steps = new Steps(rollout, podAt, inTurn);
  return steps.next();
}

/** What is next for the pods of a set: make those that it wants, delete those that it does not, then replace old ones. */
class Steps {
  readonly #rollout: Rollout;
  readonly #podAt: ReadonlyMap<number, Pod>;
  readonly #inTurn: boolean;
  readonly #wanted: readonly number[];

  constructor(rollout: Rollout, podAt: ReadonlyMap<number, Pod>, inTurn: boolean) {
    this.#rollout = rollout;
    this.#podAt = podAt;
    this.#inTurn = inTurn;
    this.#wanted = ordinalsOf(rollout.set);
  }

  next(): Next {
    let waiting: Outcome | undefined;
    for (const ordinal of this.#wanted) {
      const next = this.#make(ordinal);
      if (next === undefined) continue;
      if (next.do !== "wait") return next;
      if (this.#inTurn) return this.#replaceMore() ?? this.#ofClaims() ?? next;
      waiting = soonest(waiting, next);
    }
    const next = this.#shrink() ?? this.#replace() ?? this.#ofClaims();
    return next === undefined || next.do === "wait" ? soonest(waiting, next) : next;
  }

  #make(ordinal: number): Next {
    const { set, claims, foreignNames } = this.#rollout;
    const pod = this.#podAt.get(ordinal);
    const podName = `${set.metadata.name}-${ordinal}`;
    if (pod === undefined) {
      for (const claim of claimsOf(set, ordinal)) {
        const found = claims.find((each) => each.claim.metadata.name === claim.metadata.name)?.claim;
        if (found === undefined) return { do: "create-claim", claim };
        // A claim that goes with the pod before: its successor gets one of its own.
        if (found.metadata.deletionTimestamp !== undefined || goesWithPod(found, podName)) return wait();
      }
      if (foreignNames.has(podName)) return wait();
      return { do: "create-pod", pod: this.#podFor(ordinal) };
    }
    if (pod.metadata.deletionTimestamp !== undefined) return wait();
    if (isFinished(pod)) return { do: "delete-pod", pod, why: "it has ended" };
    const availableMs = availableInMs(pod, set.spec?.minReadySeconds ?? 0, this.#rollout.now);
    if (availableMs === 0) return undefined;
    // One that does not get ready and is to be replaced anyway would keep the repaired template waiting for ever.
    if (availableMs === undefined && this.#isOld(ordinal, pod))
      return { do: "delete-pod", pod, why: "it is to be replaced" };
    return wait(availableMs);
  }

  #podFor(ordinal: number): Pod {
    const { set, update, current } = this.#rollout;
    const revision = this.#isUpdated(ordinal) ? update : current;
    const template = templateOf(revision) ?? set.spec?.template ?? {};
    return podOf(set, ordinal, template, revision.metadata.name);
  }

  /** Whether a pod that is made now is of the revision of now. */
  #isUpdated(ordinal: number): boolean {
    const { spec } = this.#rollout.set;
    if (spec?.updateStrategy?.type === "OnDelete") return true;
    return ordinal >= (spec?.updateStrategy?.rollingUpdate?.partition ?? 0);
  }

  /** Whether the rolling update replaces this pod. */
  #isOld(ordinal: number, pod: Pod): boolean {
    const { set, update } = this.#rollout;
    if (set.spec?.updateStrategy?.type === "OnDelete" || !this.#isUpdated(ordinal)) return false;
    return revisionOf(pod) !== update.metadata.name;
  }

  /** The last one first; in turn, none before the one before it has gone. */
  #shrink(): Next {
    const surplus = [...this.#podAt]
      .filter(([ordinal]) => !this.#wanted.includes(ordinal))
      .sort(([a], [b]) => b - a);
    for (const [ordinal, pod] of surplus) {
      if (pod.metadata.deletionTimestamp !== undefined) {
        if (this.#inTurn) return wait();
        continue;
      }
      const owners = this.#claimsOf(ordinal).map((each) => ownClaim(this.#rollout.set, each, pod));
      return (
        owners.find((step) => step !== undefined) ?? { do: "delete-pod", pod, why: "the set gets smaller" }
      );
    }
    return undefined;
  }

  /** Beside those that are missing now, as many as the set lets be missing. */
  #replaceMore(): Next {
    const most = maxUnavailableOf(this.#rollout.set);
    const missing = this.#wanted.filter((ordinal) => this.#availableInMs(ordinal) !== 0);
    if (missing.length >= most) return undefined;
    for (const ordinal of [...this.#wanted].reverse()) {
      const pod = this.#podAt.get(ordinal);
      if (pod !== undefined && pod.metadata.deletionTimestamp === undefined && this.#isOld(ordinal, pod))
        return { do: "delete-pod", pod, why: "it is replaced" };
    }
    return undefined;
  }

  /** Undefined: not known. */
  #availableInMs(ordinal: number): number | undefined {
    const { set, now } = this.#rollout;
    const pod = this.#podAt.get(ordinal);
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return undefined;
    return availableInMs(pod, set.spec?.minReadySeconds ?? 0, now);
  }

  /** The last one first, each when all that were replaced are available, or as many at a time as may be missing. */
  #replace(): Next {
    const { set, now } = this.#rollout;
    const more = this.#replaceMore();
    if (more !== undefined) return more;
    for (const ordinal of [...this.#wanted].reverse()) {
      const pod = this.#podAt.get(ordinal);
      if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return wait();
      if (this.#isOld(ordinal, pod))
        return maxUnavailableOf(set) > 1 ? wait() : { do: "delete-pod", pod, why: "it is replaced" };
      const availableMs = availableInMs(pod, set.spec?.minReadySeconds ?? 0, now);
      if (availableMs !== 0) return wait(availableMs);
    }
    return undefined;
  }

  #claimsOf(ordinal: number): SetClaim[] {
    return this.#rollout.claims.filter((each) => each.ordinal === ordinal);
  }

  #ofClaims(): Next {
    const { set } = this.#rollout;
    const claims = this.#wanted
      .filter((ordinal) => this.#podAt.has(ordinal))
      .flatMap((ordinal) => this.#claimsOf(ordinal));
    const live = claims.filter(({ claim }) => claim.metadata.deletionTimestamp === undefined);
    for (const each of live) {
      const step = ownClaim(set, each, undefined) ?? sizeClaim(set, each);
      if (step !== undefined) return step;
    }
    return undefined;
  }
}

/** Two waits end when the first of them does. */
function soonest(a: Next, b: Next): Outcome | undefined {
  const waits = [a, b].filter((next) => next?.do === "wait");
  const times = waits.flatMap((each) => ("afterMs" in each ? (each.afterMs ?? []) : []));
  if (waits.length === 0) return undefined;
  return times.length === 0 ? wait() : wait(Math.min(...times));
}

/** The oldest revision that no pod is of, beyond the history that is kept. */
function trim({ set, owned, revisions, update, current }: Rollout): StatefulSetStep | undefined {
  const used = new Set([update.metadata.name, current.metadata.name, ...owned.map(revisionOf)]);
  const unused = inOrder(revisions).filter(({ metadata }) => !used.has(metadata.name));
  const [oldest] = unused;
  return oldest === undefined || unused.length <= (set.spec?.revisionHistoryLimit ?? 10)
    ? undefined
    : { do: "delete-revision", revision: oldest };
}
