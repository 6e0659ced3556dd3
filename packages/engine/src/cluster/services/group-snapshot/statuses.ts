import { defined } from "@mooring/store";
import type { GroupSnapshotStatus, NodeBarrier } from "../../../api/group-snapshot.ts";
import { nodesOf, placement } from "./placement.ts";
import type { CoordinatorStep, CoordinatorView, GroupRecord } from "./view.ts";

interface Failure {
  code: string;
  message: string;
  hint?: string | undefined;
}

/** Before the first attempt, for what has to be reported until then. */
export const NEW: GroupSnapshotStatus = { state: "preparing", attempt: 0, readyToUse: false };

/** A status write of what happened; optional fields are absent, never undefined. */
export function record(what: GroupRecord, view: CoordinatorView, failure?: Failure): CoordinatorStep {
  const { error: _, ...before } = view.group.status ?? NEW;
  return { do: "record", what, status: withError(NEXT[what](before, view), failure) };
}

/** A status write that changes nothing but what stands in the way; undefined: nothing does. */
export function note(view: CoordinatorView, failure: Failure | undefined): CoordinatorStep {
  const { error: _, ...status } = view.group.status ?? NEW;
  return { do: "note", status: withError(status, failure) };
}

function withError(status: GroupSnapshotStatus, failure: Failure | undefined): GroupSnapshotStatus {
  if (failure === undefined) return status;
  const hint = failure.hint === undefined ? "" : ` (${failure.hint})`;
  return { ...status, error: { code: failure.code, message: `${failure.message}${hint}` } };
}

const NEXT: Readonly<
  Record<GroupRecord, (status: GroupSnapshotStatus, view: CoordinatorView) => GroupSnapshotStatus>
> = {
  preparing: (status, view) => {
    const members = placement(view);
    return {
      ...status,
      state: "preparing",
      attempt: status.attempt + 1,
      nodes: places(nodesOf(members), status),
      members,
    };
  },
  quiescing: (status, { now }) => ({
    ...status,
    state: "quiescing",
    barrier: {
      method: "none",
      startTime: now.toISOString(),
      endTime: now.toISOString(),
      pauseMilliseconds: 0,
    },
  }),
  cutting: (status) => ({ ...status, state: "cutting" }),
  releasing: (status) => ({ ...status, state: "releasing" }),
  committed,
  ready: (status) => ({ ...status, state: "ready", readyToUse: true }),
  unready: (status) => ({ ...status, readyToUse: false }),
  failing: (status) => ({ ...status, state: "failing", readyToUse: false }),
  failed: (status, view) => ({ ...status, ...keepError(view), state: "failed", readyToUse: false }),
  deleting: (status) => ({ ...status, state: "deleting", readyToUse: false }),
};

/** A place for the report of every node that has members; its name there is the wish that it takes part. */
function places(nodes: readonly string[], { nodes: reports = {} }: GroupSnapshotStatus) {
  const none: NodeBarrier = { attempt: 0, phase: "prepared" };
  return Object.fromEntries(nodes.map((node) => [node, reports[node] ?? none]));
}

/**
 * The one write by which the group exists. Its moment is the beginning of the barrier: whatever was written before is
 * in it. On a single node that node's clock counts; clocks of several are never compared.
 */
function committed(status: GroupSnapshotStatus, { now }: CoordinatorView): GroupSnapshotStatus {
  const reports = Object.values(status.nodes ?? {});
  const methods = Object.assign({}, ...reports.map((report) => report.methods ?? {})) as Record<
    string,
    string
  >;
  const [only] = reports.length === 1 ? reports : [];
  const startTime = only?.startTime ?? status.barrier?.startTime ?? now.toISOString();
  return {
    ...status,
    state: "committed",
    readyToUse: false,
    creationTime: startTime,
    members: (status.members ?? []).map((member) => {
      const method = methods[member.volume];
      return method === undefined ? member : { ...member, method };
    }),
    barrier: {
      method: joined(Object.values(methods)),
      startTime,
      endTime: only?.endTime ?? now.toISOString(),
      pauseMilliseconds: Math.max(0, ...reports.map((report) => report.pauseMilliseconds ?? 0)),
    },
  };
}

function joined(methods: readonly string[]): string {
  const all = [...new Set(methods)].filter((method) => method !== "none").sort();
  return all.length === 0 ? "none" : all.join("+");
}

function keepError({ group }: CoordinatorView): Pick<GroupSnapshotStatus, "error"> {
  const error = group.status?.error;
  return defined({ error });
}
