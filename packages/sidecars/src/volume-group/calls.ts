import { Code, type CsiClient, type volumegroup } from "@mooring/csi";
import { callFailure } from "../csi/codes.ts";
import type { Driver } from "../csi/driver.ts";
import type { GroupResult } from "./view.ts";

interface CallOptions {
  signal: AbortSignal;
  timeoutMs: number;
}

/** How often a list is begun anew before the driver is believed to be unable to give one. */
const MOST_STARTS = 5;

/** What the driver returned of a group. Throws when it names none. */
export function groupResultOf(group: volumegroup.VolumeGroup | undefined): GroupResult {
  const { volumeGroupContext = {}, volumeGroupId = "", volumes = [] } = group ?? {};
  if (volumeGroupId === "") throw new Error("the driver returned no id of the group");
  return {
    handle: volumeGroupId,
    context: { ...volumeGroupContext },
    volumeHandles: [...new Set(volumes.map(({ volumeId }) => volumeId))].sort(),
  };
}

/** What is in a group now; undefined: there is no such group. */
export async function getGroup(
  { volumeGroup }: CsiClient,
  volumeGroupId: string,
  { canGet, secrets }: { canGet: boolean; secrets: Record<string, string> },
  options: CallOptions,
): Promise<GroupResult | undefined> {
  if (!canGet) return (await listGroups(volumeGroup, secrets, options)).get(volumeGroupId);
  try {
    const found = await volumeGroup.controllerGetVolumeGroup({ volumeGroupId, secrets }, options);
    return groupResultOf(found.volumeGroup);
  } catch (error) {
    if (callFailure(error).code === Code.NOT_FOUND) return undefined;
    throw error;
  }
}

/**
 * What is in a group right before it is deleted: what others have put into it meanwhile must not go with it. A driver that
 * cannot be asked is sent the set (`volumeHandles`) once more. Undefined: the group was not found; a list may have missed it.
 */
export async function membersBeforeDeletion(
  { client, info: { volumeGroups } }: Driver,
  { handle, volumeHandles: volumeIds }: { handle: string; volumeHandles: string[] },
  secrets: Record<string, string>,
  options: CallOptions,
): Promise<GroupResult | undefined> {
  const canGet = volumeGroups.has("GET_VOLUME_GROUP");
  if (canGet || volumeGroups.has("LIST_VOLUME_GROUPS"))
    return getGroup(client, handle, { canGet, secrets }, options);
  const request = { volumeGroupId: handle, volumeIds, secrets };
  return groupResultOf((await client.volumeGroup.modifyVolumeGroupMembership(request, options)).volumeGroup);
}

/**
 * All groups by id. Pages need not fit together: a group that comes twice counts once (the later one), and a list whose
 * token has expired (ABORTED) begins again.
 */
async function listGroups(
  client: Pick<CsiClient["volumeGroup"], "listVolumeGroups">,
  secrets: Record<string, string>,
  options: CallOptions,
): Promise<Map<string, GroupResult>> {
  for (let starts = 1; ; starts += 1) {
    try {
      return await allPages(client, secrets, options);
    } catch (error) {
      if (callFailure(error).code !== Code.ABORTED || starts >= MOST_STARTS) throw error;
    }
  }
}

async function allPages(
  client: Pick<CsiClient["volumeGroup"], "listVolumeGroups">,
  secrets: Record<string, string>,
  options: CallOptions,
): Promise<Map<string, GroupResult>> {
  const groups = new Map<string, GroupResult>();
  let startingToken = "";
  do {
    const page = await client.listVolumeGroups({ startingToken, secrets }, options);
    for (const { volumeGroup } of page.entries) {
      const result = groupResultOf(volumeGroup);
      groups.set(result.handle, result);
    }
    startingToken = page.nextToken;
  } while (startingToken !== "");
  return groups;
}
