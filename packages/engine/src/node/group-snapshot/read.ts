import { getIfAny } from "@mooring/store";
import { type GroupMember, type GroupSnapshot, GroupSnapshots } from "../../api/group-snapshot.ts";
import type { AgentContext } from "../context.ts";
import type { GroupView } from "./decide.ts";

export async function readGroup(context: AgentContext, name: string): Promise<GroupView> {
  const { store, nodeID, sessions, signal } = context;
  const group = await getIfAny(store, GroupSnapshots, { name }, signal);
  return { group, nodeID, session: sessions.get(name) };
}

/** The members that this node is to cut: by what the coordinator has written down, as all nodes read it. */
export function membersOf({ nodeID }: AgentContext, { spec, status }: GroupSnapshot): GroupMember[] {
  const own = new Set(status?.members?.flatMap((m) => (m.nodeID === nodeID ? [m.volume] : [])));
  return spec.members.filter(({ volume }) => own.has(volume));
}
