import { type GroupMember, type GroupSnapshot, GroupSnapshots } from "../../api/group-snapshot.ts";
import type { AgentContext } from "../context.ts";
import { whenNotFound } from "../volume/read.ts";
import type { GroupView } from "./decide.ts";

export async function readGroup(context: AgentContext, name: string): Promise<GroupView> {
  const { store, nodeID, sessions, signal } = context;
  const group = await store.get(GroupSnapshots, { name }, signal).catch(whenNotFound);
  return { group, nodeID, session: sessions.get(name) };
}

/** The members whose images are on this node. */
export function membersOf({ poolObjects, nodeID }: AgentContext, group: GroupSnapshot): GroupMember[] {
  return group.spec.members.filter(({ pool }) => poolObjects.get(pool)?.spec.nodeID === nodeID);
}
