import type { Deployment, Pod, ReadContext, ReplicaSet, WrittenCache } from "@mooring/store";
import { isFinished } from "../pod-claims.ts";
import { selects } from "../workloads/owners.ts";
import type { DeploymentView } from "./decide.ts";
import { isCurrent, setNameOf } from "./template.ts";

export interface DeploymentCaches {
  deployments: WrittenCache<Deployment>;
  sets: WrittenCache<ReplicaSet>;
  pods: WrittenCache<Pod>;
}

/** A Deployment and its sets, and whether pods of old ones are still there. */
export async function readDeployment(
  key: string,
  { deployments, sets, pods }: DeploymentCaches,
  { reader, fresh, signal }: ReadContext,
): Promise<DeploymentView | undefined> {
  if (fresh) await deployments.refresh(key, signal);
  const deployment = reader.over(deployments).get(key);
  if (deployment === undefined) return undefined;
  const { namespace = "", uid = "" } = deployment.metadata;
  if (fresh)
    for (const { metadata } of sets.byIndex("controller", uid))
      await sets.refresh(`${namespace}/${metadata.name}`, signal);
  const name = `${namespace}/${setNameOf(deployment)}`;
  if (fresh) await sets.refresh(name, signal);
  const owned = reader.over(sets).byIndex("controller", uid);
  const orphans = reader.over(sets).byIndex("orphan", namespace);
  const taken = reader.over(sets).get(name);
  return {
    ...{ deployment, owned },
    orphans: orphans.filter(
      (set) => set.metadata.deletionTimestamp === undefined && selects(deployment, set),
    ),
    nameTaken: taken !== undefined && !(owned.includes(taken) && isCurrent(taken, deployment)),
    oldPods:
      deployment.spec?.strategy?.type === "Recreate" ? countOldPods(deployment, owned, pods, reader) : 0,
    now: Date.now(),
  };
}

function countOldPods(
  deployment: Deployment,
  owned: readonly ReplicaSet[],
  pods: WrittenCache<Pod>,
  reader: ReadContext["reader"],
): number {
  const old = owned.filter((set) => !isCurrent(set, deployment));
  const all = old.flatMap(({ metadata }) => reader.over(pods).byIndex("controller", metadata.uid ?? ""));
  return all.filter((pod) => !isFinished(pod)).length;
}
