import {
  dataSourceReference,
  isElsewhere,
  isGranted,
  ReferenceGrants,
  VolumePopulators,
} from "@mooring/sidecars";
import {
  defined,
  isNotFound,
  type KubeObject,
  type PersistentVolumeClaim,
  PersistentVolumeClaims,
  type Resource,
} from "@mooring/store";
import { type Context, read } from "./context.ts";
import { type Finding, finding, result } from "./finding.ts";

type Source = NonNullable<ReturnType<typeof dataSourceReference>>;

/** What a claim's volume is to begin as a copy of, as long as that is what it waits for. */
export async function explainSource(
  context: Context,
  claim: PersistentVolumeClaim,
): Promise<Finding | undefined> {
  const source = dataSourceReference(claim);
  if (source === undefined) return undefined;
  if (isElsewhere(claim, source)) {
    const grants = await listIfServed(context, ReferenceGrants, source.namespace);
    if (!isGranted(claim, source, grants)) return notGranted(claim, source);
  }
  const { apiGroup, kind, name, namespace } = source;
  if (kind === "VolumeSnapshot" && apiGroup === "snapshot.storage.k8s.io") {
    const snapshot = await context.explain("volumesnapshot", namespace, name);
    return result(snapshot) === "ok" ? undefined : snapshot;
  }
  if (kind !== "PersistentVolumeClaim" || apiGroup !== "") return explainPopulator(context, source);
  const origin = await read(context, PersistentVolumeClaims, { namespace, name });
  return origin?.status?.phase === "Bound" ? undefined : context.explain("pvc", namespace, name);
}

function notGranted(claim: PersistentVolumeClaim, { apiGroup, kind, namespace, name }: Source): Finding {
  const from = claim.metadata.namespace ?? "default";
  const what = `no ReferenceGrant in namespace ${namespace} lets claims of namespace ${from} refer to it`;
  const grant = `from {group: "", kind: PersistentVolumeClaim, namespace: ${from}}, to {group: "${apiGroup}", kind: ${kind}}`;
  return finding("waiting", `${kind} ${namespace}/${name}`, what, {
    next: `let the owner of namespace ${namespace} create a ReferenceGrant there: ${grant}`,
  });
}

async function explainPopulator(
  context: Context,
  { apiGroup, kind, namespace, name }: Source,
): Promise<Finding> {
  const subject = `${kind}.${apiGroup} ${namespace}/${name}`;
  const populators = await listIfServed(context, VolumePopulators);
  const registered = populators.filter(
    ({ sourceKind }) => sourceKind.group === apiGroup && sourceKind.kind === kind,
  );
  if (registered.length > 0) {
    const names = registered.map(({ metadata }) => metadata.name).join(", ");
    return finding("waiting", subject, `VolumePopulator ${names} is to fill the volume from it`, {
      next: `see that the populator runs, and what it waits for: kubectl get pvc,pods -A | grep -E 'prime|populate'`,
    });
  }
  return finding(
    "waiting",
    subject,
    "no VolumePopulator is registered for its kind, so no populator fills the volume",
    {
      next: `install the populator of ${kind}.${apiGroup}, or create the claim again without dataSourceRef`,
    },
  );
}

/** A kind that the cluster does not have has no objects. */
async function listIfServed<T extends KubeObject>(
  { store }: Context,
  resource: Resource<T>,
  namespace?: string,
): Promise<T[]> {
  try {
    return (await store.list(resource, defined({ namespace }))).items;
  } catch (error) {
    if (isNotFound(error)) return [];
    throw error;
  }
}
