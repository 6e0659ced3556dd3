import { type VolumeGroup, VolumeGroups, WANTED_GROUP } from "@mooring/sidecars";
import {
  defined,
  getIfAny,
  type LabelSelector,
  mutate,
  type ObjectStore,
  PersistentVolumeClaims,
  parseQuantity,
} from "@mooring/store";
import { CommandError } from "../output/command-error.ts";
import { EXIT } from "../output/exit-codes.ts";

interface GroupWish {
  namespace: string;
  name: string;
  claims: readonly string[];
  selector?: LabelSelector;
  className?: string;
}

/** Without claims and selector: a group that claims are added to later, or that they ask for themselves. */
export function createVolumeGroup(store: ObjectStore, wish: GroupWish): Promise<VolumeGroup> {
  const { claims, className, name, namespace, selector } = wish;
  return store.create(VolumeGroups, {
    apiVersion: "storage.mooring.dev/v1alpha1",
    kind: "VolumeGroup",
    metadata: { name, namespace },
    spec: {
      ...defined({ volumeGroupClassName: className }),
      source: { ...defined({ selector }), ...(claims.length > 0 ? { claimNames: [...claims] } : {}) },
    },
  });
}

/** Adds claims to the names of a group; throws when one of them does not exist. */
export async function addClaims(
  store: ObjectStore,
  { claims, name, namespace }: Pick<GroupWish, "claims" | "name" | "namespace">,
): Promise<VolumeGroup> {
  for (const claim of claims) await store.get(PersistentVolumeClaims, { namespace, name: claim });
  return mutate(store, VolumeGroups, { namespace, name }, ({ spec: { source } }) => {
    source.claimNames = [...new Set([...(source.claimNames ?? []), ...claims])];
  });
}

/**
 * Takes claims out of the names of a group, and their own wish to be in it away. Throws for those that a selector keeps in.
 */
export async function removeClaims(
  store: ObjectStore,
  { claims, name, namespace }: Pick<GroupWish, "claims" | "name" | "namespace">,
): Promise<VolumeGroup> {
  const group = await store.get(VolumeGroups, { namespace, name });
  const known = new Set([
    ...(group.spec.source.claimNames ?? []),
    ...(group.status?.members ?? []).map(({ claimName }) => claimName),
  ]);
  const strange = claims.filter((claim) => !known.has(claim));
  if (strange.length > 0)
    throw new CommandError(`VolumeGroup ${name} has no claim ${strange.join(", ")}`, {
      next: `see who is in it: mooring group show vg/${name} -n ${namespace}`,
      exitCode: EXIT.negative,
    });
  for (const claim of claims) await forgetWish(store, { namespace, name: claim }, name);
  return mutate(store, VolumeGroups, { namespace, name }, ({ spec: { source } }) => {
    // A group that was brought in and names no member has all that the driver reports: no name is not the same as no list.
    if (source.claimNames !== undefined)
      source.claimNames = source.claimNames.filter((each) => !claims.includes(each));
  });
}

async function forgetWish(
  store: ObjectStore,
  key: { namespace: string; name: string },
  group: string,
): Promise<void> {
  const claim = await getIfAny(store, PersistentVolumeClaims, key);
  if (claim?.metadata.annotations?.[WANTED_GROUP] !== group) return;
  const body = { metadata: { annotations: { [WANTED_GROUP]: null } } };
  await store.patch(PersistentVolumeClaims, key, { type: "merge", body });
}

/** Asks for this size in every member; throws for less than the group asks for already. */
export async function expandGroup(
  store: ObjectStore,
  { name, namespace, size }: { name: string; namespace: string; size: string },
): Promise<VolumeGroup> {
  const wanted = quantityOf(size);
  return mutate(store, VolumeGroups, { namespace, name }, ({ spec }) => {
    if (spec.memberSize !== undefined && quantityOf(spec.memberSize) > wanted)
      throw new CommandError(`VolumeGroup ${name} asks for ${spec.memberSize} already, and nothing shrinks`, {
        next: "name a larger size",
        exitCode: EXIT.negative,
      });
    spec.memberSize = size;
  });
}

function quantityOf(text: string): ReturnType<typeof parseQuantity> {
  try {
    return parseQuantity(text);
  } catch {
    throw new CommandError(`${JSON.stringify(text)} is no size`, { next: "write it as 10Gi" });
  }
}
