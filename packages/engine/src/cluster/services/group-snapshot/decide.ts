import { DONE, hasFinalizer, isDeleting, wait } from "@mooring/store";
import type { NodeBarrier } from "../../../api/group-snapshot.ts";
import { ENGINE_FINALIZER } from "../../../api/names.ts";
import { EngineError } from "../../../errors.ts";
import { fail } from "../../../refused.ts";
import { hasMoved, isAttached } from "./placement.ts";
import { prepareTimeout } from "./prepare-timeout.ts";
import { note, record } from "./statuses.ts";
import { validate } from "./validate.ts";
import type { CoordinatorStep, CoordinatorView } from "./view.ts";

/** Barriers that were interrupted and are tried again before the group fails. */
const MOST_ATTEMPTS = 5;
/**
 * Milliseconds until the next read behind another group's barrier. Its end is an event; this is for a barrier that was not
 * begun after all.
 */
const BUSY_MS = 2_000;
/** Failures of a member that trying again does not repair. */
const FINAL: ReadonlySet<string> = new Set([
  "INVALID_ARGUMENT",
  "NOT_FOUND",
  "FAILED_PRECONDITION",
  "RESOURCE_EXHAUSTED",
  "DATA_LOSS",
]);

/** The next step for a group snapshot. Pure. */
export function decide(view: CoordinatorView): CoordinatorStep {
  const { group } = view;
  if (isDeleting(group)) return deletion(view);
  if (!view.claimed) return { do: "resume-claim" };
  if (!hasFinalizer(group, ENGINE_FINALIZER)) return { do: "add-finalizer" };
  switch (group.status?.state) {
    case undefined:
      return beginning(view);
    case "preparing":
      return group.status.attempt === 0 ? beginning(view) : preparation(view);
    case "quiescing":
    case "cutting":
    case "releasing":
      return barrier(view);
    case "committed":
    case "ready":
      return readiness(view);
    case "failing":
      return removal(view, record("failed", view));
    case "failed":
      return DONE;
    case "deleting":
      // A record that was brought back from its deletion has lost its members.
      return record("failing", view, new EngineError("ABORTED", "the group snapshot was being deleted"));
  }
}

function deletion(view: CoordinatorView): CoordinatorStep {
  const { group } = view;
  if (!hasFinalizer(group, ENGINE_FINALIZER)) return DONE;
  // First the record that stops the agents, then what they have made.
  if (group.status?.state !== "deleting") return record("deleting", view);
  return removal(view, { do: "remove-finalizer" });
}

/** Deletes the members with the group; the next step comes when the last is gone. */
function removal({ group, snapshots }: CoordinatorView, next: CoordinatorStep): CoordinatorStep {
  const own = [...snapshots.values()].filter(({ spec }) => spec.group === group.metadata.name);
  if (own.some((snapshot) => !isDeleting(snapshot))) return { do: "delete-members" };
  return own.length > 0 ? DONE : next;
}

function beginning(view: CoordinatorView): CoordinatorStep {
  const problem = validate(view);
  if (problem === undefined) return record("preparing", view);
  if (problem.code === "UNAVAILABLE") return fail(problem.code, problem.message);
  return record("failing", view, problem);
}

function preparation(view: CoordinatorView): CoordinatorStep {
  const { group, snapshots, busyNodes } = view;
  const problem = validate(view);
  if (problem !== undefined) return record("failing", view, problem);
  const failed = failure(view);
  if (failed !== undefined) return failed;
  const present = group.spec.members.map(({ snapshot }) => snapshots.get(snapshot));
  const foreign = present.find(
    (snapshot) => snapshot !== undefined && snapshot.spec.group !== group.metadata.name,
  );
  if (foreign !== undefined) {
    const message = `snapshot ${foreign.metadata.name} exists and is no member of this group`;
    return record("failing", view, new EngineError("ALREADY_EXISTS", message));
  }
  const lost = present.find((snapshot) => snapshot !== undefined && isDeleting(snapshot));
  if (lost !== undefined) {
    const message = `snapshot ${lost.metadata.name} was deleted while the group was being made`;
    return record("failing", view, new EngineError("ABORTED", message));
  }
  if (present.includes(undefined)) return { do: "create-members" };
  const unfit = present.find((snapshot) => FINAL.has(snapshot?.status?.error?.code ?? ""));
  if (unfit?.status?.error !== undefined) return record("failing", view, unfit.status.error);
  if (!isAttached(view)) return waiting(view);
  // A new attempt: what the nodes have reported was about other members.
  if (hasMoved(view)) return record("preparing", view);
  // Recorded by the node: what is copied now is explained, and will never be formatted.
  if (present.some((snapshot) => snapshot?.status?.ownerID === undefined)) return waiting(view);
  const latest = reports(view);
  if (latest.some((report) => report?.phase !== "prepared")) return waiting(view);
  const nodes = Object.keys(group.status?.nodes ?? {});
  if (nodes.some((node) => busyNodes.has(node))) return wait(BUSY_MS);
  return record("quiescing", view);
}

/**
 * Waits, which is no failure: the group goes on when the nodes do. The status is written only when it would report
 * something else.
 */
function waiting(view: CoordinatorView): CoordinatorStep {
  const { error, afterMs } = prepareTimeout(view);
  if (error?.message !== view.group.status?.error?.message) return note(view, error);
  return afterMs === undefined ? DONE : wait(afterMs);
}

/** What each node reports about this attempt; undefined: nothing yet. */
function reports({ group }: CoordinatorView): (NodeBarrier | undefined)[] {
  const { nodes = {}, attempt } = group.status ?? {};
  return Object.values(nodes).map((report) => (report.attempt === attempt ? report : undefined));
}

function failure(view: CoordinatorView): CoordinatorStep | undefined {
  const failed = reports(view).filter((report) => report?.phase === "failed");
  if (failed.length === 0) return undefined;
  const { attempt = 0 } = view.group.status ?? {};
  const final = failed.filter((report) => report?.interrupted !== true);
  // Who was late itself has a better reason than who waited for it.
  const forGood = final.find((report) => report?.error?.code !== "DEADLINE_EXCEEDED") ?? final[0];
  if (forGood === undefined && attempt < MOST_ATTEMPTS) return record("preparing", view);
  const error = forGood?.error ?? failed[0]?.error ?? { code: "INTERNAL", message: "no reason given" };
  return record("failing", view, (error.code === "DEADLINE_EXCEEDED" && laggards(view)) || error);
}

/** The nodes that let the others wait for longer than they may. */
function laggards({ group }: CoordinatorView): EngineError | undefined {
  const { state, nodes = {}, attempt } = group.status ?? {};
  const awaited: NodeBarrier["phase"] | undefined = state === "quiescing" ? "quiesced" : "cut";
  const late = Object.entries(nodes)
    .filter(
      ([, report]) => report.attempt !== attempt || (report.phase !== "failed" && report.phase !== awaited),
    )
    .map(([node]) => node);
  if (late.length === 0) return undefined;
  const members = (group.status?.members ?? []).filter(({ nodeID }) => late.includes(nodeID));
  const names = members.map(({ volume }) => volume).join(", ");
  const what = state === "quiescing" ? "kept still" : "copied";
  const message = `volume ${names} on node ${late.join(", ")} could not be ${what} before the deadline`;
  return new EngineError("UNAVAILABLE", message, { hint: "is the agent of that node running?" });
}

/** All in step: a phase begins when every node has ended the one before. */
function barrier(view: CoordinatorView): CoordinatorStep {
  const failed = failure(view);
  if (failed !== undefined) return failed;
  const latest = reports(view);
  const all = (phase: NodeBarrier["phase"]): boolean => latest.every((report) => report?.phase === phase);
  const { state } = view.group.status ?? {};
  if (all("done")) {
    const covered = latest.every((report) => report?.heldThroughCut === true);
    if (covered) return record("committed", view);
    const message = "not every node's writers were still when the last node had copied";
    return record("failing", view, new EngineError("FAILED_PRECONDITION", message));
  }
  if (state === "quiescing" && all("quiesced")) return record("cutting", view);
  if (state === "cutting" && all("cut")) return record("releasing", view);
  return DONE;
}

/** True as long as every member can be restored. */
function readiness(view: CoordinatorView): CoordinatorStep {
  const { group, snapshots } = view;
  const members = group.spec.members.map(({ snapshot }) => snapshots.get(snapshot));
  const ready = members.every((member) => member?.status?.readyToUse === true);
  const { state, readyToUse } = group.status ?? {};
  if (ready) return state === "ready" && readyToUse === true ? DONE : record("ready", view);
  const index = members.findIndex((member) => member === undefined || member.status?.error !== undefined);
  if (index < 0) return DONE;
  const name = group.spec.members[index]?.snapshot ?? "";
  const error = members[index]?.status?.error ?? { code: "DATA_LOSS", message: `snapshot ${name} is gone` };
  const known = readyToUse === false && group.status?.error?.message === error.message;
  return known ? DONE : record("unready", view, error);
}
