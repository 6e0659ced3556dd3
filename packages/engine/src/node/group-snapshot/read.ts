import { getIfAny } from "@mooring/store";
import { type GroupMember, type GroupSnapshot, GroupSnapshots } from "../../api/group-snapshot.ts";
import type { AgentContext } from "../context.ts";
import type { ReadContext } from "../read-context.ts";
import type { GroupView } from "./decide.ts";

/** Undefined: it is gone, and nothing is under way for it here. */
export async function readGroup(context: ReadContext, name: string): Promise<GroupView | undefined> {
  const { store, nodeID, sessions, signal } = context;
  const group = await getIfAny(store, GroupSnapshots, { name }, signal);
  const session = sessions.get(name);
  return group === undefined && session === undefined ? undefined : { group, nodeID, session };
}

/** The members that this node is to copy: by what the coordinator has written down, as all nodes read it. */
export function membersOf({ nodeID }: AgentContext, { spec, status }: GroupSnapshot): GroupMember[] {
  const own = new Set(status?.members?.flatMap((m) => (m.nodeID === nodeID ? [m.volume] : [])));
  return spec.members.filter(({ volume }) => own.has(volume));
}
