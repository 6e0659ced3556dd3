import { Code, type CsiClient, type v1 } from "@mooring/csi";
import { callFailure } from "./codes.ts";

/** How often a list is begun anew before the driver is believed to be unable to give one. */
const MOST_STARTS = 5;

/**
 * All pages of ListVolumes. ABORTED on a page means that the token has expired: the list begins again (csi.v1,
 * "ListVolumes Errors"). `timeoutMs` is for one page, so that large back ends can be listed at all.
 */
export async function listVolumes(
  client: CsiClient,
  options: { signal: AbortSignal; timeoutMs: number },
): Promise<v1.ListVolumesResponse_Entry[]> {
  for (let starts = 1; ; starts += 1) {
    try {
      return await allPages(client, options);
    } catch (error) {
      if (callFailure(error).code !== Code.ABORTED || starts >= MOST_STARTS) throw error;
    }
  }
}

async function allPages(
  client: CsiClient,
  options: { signal: AbortSignal; timeoutMs: number },
): Promise<v1.ListVolumesResponse_Entry[]> {
  const entries: v1.ListVolumesResponse_Entry[] = [];
  let startingToken = "";
  do {
    const page = await client.controller.listVolumes({ startingToken }, options);
    entries.push(...page.entries);
    startingToken = page.nextToken;
  } while (startingToken !== "");
  return entries;
}
