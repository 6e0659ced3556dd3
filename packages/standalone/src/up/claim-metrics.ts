import type { MetricFamily, MetricSample } from "@mooring/csi";
import { type Informer, type Node, type ObjectStore, within } from "@mooring/store";
import { isReady } from "../controllers/lost-node.ts";
import type { Kubelet } from "../kubelet/index.ts";
import type { AmountName, ClaimUsage } from "../kubelet/volumes/usage.ts";
import { readAccess } from "../node-streams/access.ts";
import { fetchClaims } from "../node-streams/fetch-claims.ts";

/** A scrape does not wait longer for a node that does not respond; its claims are left out. */
const LONGEST_MS = 6_000;

const HELP: Readonly<Record<AmountName, string>> = {
  available_bytes: "Number of available bytes in the volume",
  capacity_bytes: "Capacity in bytes of the volume",
  used_bytes: "Number of used bytes in the volume",
  inodes: "Maximum number of inodes in the volume",
  inodes_free: "Number of free inodes in the volume",
  inodes_used: "Number of used inodes in the volume",
  health_status_abnormal:
    "Abnormal volume health status. The count is either 1 or 0. 1 indicates the volume is unhealthy, 0 indicates volume is healthy",
};

/** Whose claims are measured: those of this process' node by its kubelet, of all others by theirs. */
export interface ClaimSources {
  store: ObjectStore;
  nodes: Informer<Node>;
  nodeName: string;
  kubelet: Pick<Kubelet, "measureClaims">;
  signal: AbortSignal;
}

/**
 * What the claims have, and have left, that pods use now, on every node: `kubelet_volume_stats_*`, under the names and with
 * the labels of upstream's kubelet, so that its dashboards and alerts fit. Which node it is, its scraper adds there; here
 * one scrape is of all nodes, and several may use one claim.
 */
export async function claimMetrics(sources: ClaimSources): Promise<MetricFamily[]> {
  const { nodes, nodeName, kubelet } = sources;
  const others = nodes.list().filter((node) => node.metadata.name !== nodeName && isReady(node));
  const usages = await within(LONGEST_MS, sources.signal, (until) =>
    Promise.all([
      measured(nodeName, kubelet.measureClaims()),
      ...others.map(({ metadata: { name } }) => measured(name, elsewhere(sources, name, until))),
    ]),
  );
  const all = usages.flat();
  return (Object.keys(HELP) as AmountName[]).map((name) => ({
    ...{ name: `kubelet_volume_stats_${name}`, help: HELP[name], type: "gauge" },
    samples: all.flatMap(({ node, namespace, claim, amounts }): MetricSample[] => {
      const value = amounts[name];
      return value === undefined
        ? []
        : [{ labels: { namespace, persistentvolumeclaim: claim, node }, value }];
    }),
  }));
}

async function elsewhere({ store }: ClaimSources, name: string, until: AbortSignal): Promise<ClaimUsage[]> {
  const access = await readAccess(store, name);
  return access === undefined ? [] : fetchClaims(access, until);
}

/** A node reports for itself, and for no other. One that does not respond leaves a hole, as one that is not scraped does. */
async function measured(
  node: string,
  claims: Promise<ClaimUsage[]>,
): Promise<(ClaimUsage & { node: string })[]> {
  const found = await claims.catch((): ClaimUsage[] => []);
  // Twice the same claim would make the whole scrape unreadable.
  const byClaim = new Map(found.map((each) => [`${each.namespace}/${each.claim}`, { ...each, node }]));
  return [...byClaim.values()];
}
