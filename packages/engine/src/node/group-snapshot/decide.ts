import { DONE, defined, type Outcome } from "@mooring/store";
import type { GroupSnapshot, NodeBarrier } from "../../api/group-snapshot.ts";
import type { Session } from "./sessions.ts";

/** Everything that a decision about this node's part of a group snapshot may depend on. */
export interface GroupView {
  /** Undefined: it is gone. */
  group: GroupSnapshot | undefined;
  nodeID: string;
  /** What this process is doing for the group. */
  session: Pick<Session, "attempt" | "phase" | "error" | "report"> | undefined;
}

/** One step of this node's part of a barrier. */
export type GroupStep =
  | Outcome
  /** Ends the session; what it made and did not finish is removed. */
  | { do: "drop" }
  | { do: "prepare"; attempt: number }
  | { do: "quiesce" }
  | { do: "copy" }
  | { do: "release" }
  /** All of it at once: no other node has to be waited for. */
  | { do: "run" }
  | { do: "report"; what: NodeBarrier["phase"]; report: NodeBarrier };

/** The next step of this node for a group. Pure. */
export function decide({ group, nodeID, session }: GroupView): GroupStep {
  const status = group?.status;
  const nodes = Object.keys(status?.nodes ?? {});
  const state = status?.state;
  const inBarrier =
    state === "preparing" || state === "quiescing" || state === "cutting" || state === "releasing";
  const wanted = inBarrier && group?.metadata.deletionTimestamp === undefined && nodes.includes(nodeID);
  if (status === undefined || !wanted) return session === undefined ? DONE : { do: "drop" };
  const { attempt } = status;
  if (session !== undefined && session.attempt !== attempt) return { do: "drop" };
  const latest = status.nodes?.[nodeID];
  const reported = latest?.attempt === attempt ? latest.phase : undefined;
  if (reported === "failed") return session === undefined ? DONE : { do: "drop" };
  if (reported === "done") return DONE;
  if (session === undefined) return begin(attempt, reported);
  if (session.phase === "begun") return DONE;
  if (session.phase !== reported) return report(reportOf(session));
  return advance(state, reported, nodes.length === 1);
}

/** An agent that finds a report of its own without a session was stopped, and has lost what it had frozen. */
function begin(attempt: number, reported: NodeBarrier["phase"] | undefined): GroupStep {
  if (reported === undefined || reported === "prepared") return { do: "prepare", attempt };
  const error = { code: "ABORTED", message: "the agent was stopped in the middle of the barrier" };
  return report({ attempt, phase: "failed", interrupted: true, error });
}

function advance(state: string | undefined, reported: NodeBarrier["phase"], alone: boolean): GroupStep {
  if (state === "quiescing" && reported === "prepared") return { do: alone ? "run" : "quiesce" };
  if (state === "cutting" && reported === "quiesced") return { do: "copy" };
  if (state === "releasing" && reported === "cut") return { do: "release" };
  return DONE;
}

function report(latest: NodeBarrier): GroupStep {
  return { do: "report", what: latest.phase, report: latest };
}

function reportOf({ attempt, phase, error, report }: NonNullable<GroupView["session"]>): NodeBarrier {
  return {
    attempt,
    phase: phase === "begun" ? "prepared" : phase,
    ...(report ?? {}),
    ...defined({ error }),
    ...(error?.code === "ABORTED" ? { interrupted: true } : {}),
  };
}
