import { getIfAny, mutate, type Outcome } from "@mooring/store";
import {
  DEFAULT_BARRIER_SECONDS,
  type GroupSnapshot,
  GroupSnapshots,
  type NodeBarrier,
} from "../../api/group-snapshot.ts";
import { EngineError } from "../../errors.ts";
import type { AgentContext } from "../context.ts";
import { Barrier } from "./barrier.ts";
import type { GroupStep, GroupView } from "./decide.ts";
import { membersOf } from "./read.ts";
import { Session } from "./sessions.ts";

/** Makes the one change that a decision asks for. */
export async function applyGroupStep(
  context: AgentContext,
  step: Exclude<GroupStep, Outcome>,
  name: string,
  { group }: GroupView,
): Promise<void> {
  const { sessions } = context;
  if (step.do === "drop") return sessions.drop(name);
  if (group === undefined) return;
  switch (step.do) {
    case "prepare":
      return prepare(context, group, step.attempt);
    case "report":
      return report(context, name, step.report);
    case "run":
      return sessions.get(name)?.run();
    default:
      return sessions.get(name)?.[step.do]();
  }
}

async function prepare(context: AgentContext, group: GroupSnapshot, attempt: number): Promise<void> {
  const { sessions } = context;
  const { name } = group.metadata;
  const { deadlineSeconds = DEFAULT_BARRIER_SECONDS } = group.spec;
  const barrier = new Barrier(context, {
    members: membersOf(context, group),
    alone: Object.keys(group.status?.nodes ?? {}).length === 1,
    deadlineSeconds,
  });
  const session = new Session(attempt, barrier, deadlineSeconds, () => sessions.expired(name));
  // Seen by each call that removes members from now on; therefore the group is read once more.
  sessions.set(name, session);
  if (!(await isStill(context, group, attempt))) return sessions.drop(name);
  await session.prepare();
  if (session.error?.code !== "UNAVAILABLE") return;
  await sessions.drop(name);
  throw new EngineError("UNAVAILABLE", session.error.message);
}

async function isStill(
  { store, signal }: AgentContext,
  group: GroupSnapshot,
  attempt: number,
): Promise<boolean> {
  const { name, uid } = group.metadata;
  const now = await getIfAny(store, GroupSnapshots, { name }, signal);
  const same = now?.metadata.uid === uid && now?.metadata.deletionTimestamp === undefined;
  return same && now?.status?.state === group.status?.state && now?.status?.attempt === attempt;
}

/**
 * Reports only about the attempt that the object is at: an old report must not overwrite what the coordinator and other
 * agents go by now.
 */
async function report(
  { store, nodeID, signal }: AgentContext,
  name: string,
  latest: NodeBarrier,
): Promise<void> {
  const put = (group: GroupSnapshot): void => {
    if (group.status?.attempt !== latest.attempt) return;
    group.status.nodes = { ...group.status.nodes, [nodeID]: latest };
  };
  await mutate(
    store,
    GroupSnapshots,
    { name },
    { change: put, subresource: "status", signal, attempts: 100 },
  );
}
