import { type VolumeGroup, VolumeGroups, WANTED_GROUP } from "@mooring/sidecars";
import {
  defined,
  type LabelSelector,
  mutate,
  type ObjectStore,
  PersistentVolumeClaims,
  parseQuantity,
} from "@mooring/store";
import { CommandError } from "../output/command-error.ts";
import { EXIT } from "../output/exit-codes.ts";
import { waitForObject } from "./wait.ts";

export interface GroupWish {
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

/** Takes claims out of the names of a group, and their own wish to be in it away. Throws for those that a selector keeps in. */
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
      next: `look at who is in it: mooring group show vg/${name} -n ${namespace}`,
      exitCode: EXIT.negative,
    });
  for (const claim of claims) await forgetWish(store, { namespace, name: claim }, name);
  return mutate(store, VolumeGroups, { namespace, name }, ({ spec: { source } }) => {
    const left = (source.claimNames ?? []).filter((each) => !claims.includes(each));
    if (source.claimNames === undefined) return;
    // A group that was brought in and names nobody has everybody: no name is not the same as no list.
    source.claimNames = left;
  });
}

async function forgetWish(
  store: ObjectStore,
  key: { namespace: string; name: string },
  group: string,
): Promise<void> {
  const { items } = await store.list(PersistentVolumeClaims, {
    namespace: key.namespace,
    fieldSelector: `metadata.name=${key.name}`,
  });
  if (items[0]?.metadata.annotations?.[WANTED_GROUP] !== group) return;
  const body = { metadata: { annotations: { [WANTED_GROUP]: null } } };
  await store.patch(PersistentVolumeClaims, key, { type: "merge", body });
}

const conditionOf = (group: VolumeGroup | undefined, type: string) =>
  group?.status?.conditions?.find((condition) => condition.type === type);

/** What keeps a group from being as it should be. */
function lacks(group: VolumeGroup | undefined): string | undefined {
  if (conditionOf(group, "Ready")?.status !== "True")
    return conditionOf(group, "Ready")?.message ?? "no controller has taken it up";
  if (conditionOf(group, "MembersSynced")?.status !== "True")
    return conditionOf(group, "MembersSynced")?.message;
  return undefined;
}

const isSeen = (group: VolumeGroup): boolean =>
  (group.status?.observedGeneration ?? 0) >= (group.metadata.generation ?? 0);

interface Waiting {
  namespace: string;
  name: string;
  seconds: number;
}

/** Until the group is there, and just those are in it that should be. `accept`: what else must hold, or a text why it never will. */
export function untilSynced(
  store: ObjectStore,
  { name, namespace, seconds }: Waiting,
  accept: (group: VolumeGroup) => boolean | string = () => true,
) {
  return waitForObject(
    store,
    VolumeGroups,
    { namespace, name },
    {
      seconds,
      done: (group) => {
        if (group === undefined) return "it was deleted";
        if (!isSeen(group) || lacks(group) !== undefined) return false;
        return accept(group);
      },
      last: (group) => lacks(group) ?? "it has not settled yet",
      progress: (group) => (group?.status === undefined ? undefined : lacks(group)),
      next: `mooring why vg/${name} -n ${namespace}`,
    },
  );
}

/** Whether these claims are in the group; a text for those that are left out of it. */
export function areIn(claims: readonly string[]): (group: VolumeGroup) => boolean | string {
  return ({ status }) => {
    const members = new Map(status?.members?.map((member) => [member.claimName, member]));
    const out = claims.flatMap((name) => {
      const member = members.get(name);
      return member?.state === "LeftOut" ? [`claim ${name} is left out: ${member.message}`] : [];
    });
    if (out.length > 0) return out.join("; ");
    return claims.every((name) => members.get(name)?.state === "Joined");
  };
}

/** Whether these claims are out of the group; a text for those that it still asks for. */
export function areOut(claims: readonly string[]): (group: VolumeGroup) => boolean | string {
  return ({ status }) => {
    const still = (status?.members ?? []).filter(
      ({ claimName, state }) => claims.includes(claimName) && state !== "LeftOut" && state !== "Waiting",
    );
    const kept = still.filter(({ state }) => state === "Joined");
    if (kept.length === 0) return still.length === 0;
    const names = kept.map(({ claimName }) => claimName).join(", ");
    return `its selector still selects ${names}: take the label away from the claim, or change spec.source.selector`;
  };
}

/** Until the group is gone. Its claims stay, unless its class deletes them. */
export function untilGroupGone(store: ObjectStore, { name, namespace, seconds }: Waiting) {
  return waitForObject(
    store,
    VolumeGroups,
    { namespace, name },
    {
      seconds,
      done: (group) => group === undefined,
      last: (group) => conditionOf(group, "Ready")?.message ?? "it is still there",
      progress: (group) => conditionOf(group, "Ready")?.message,
      next: `mooring why vg/${name} -n ${namespace}`,
    },
  );
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

function quantityOf(text: string): number {
  try {
    return Number(parseQuantity(text));
  } catch {
    throw new CommandError(`${JSON.stringify(text)} is no size`, { next: "write it as 10Gi" });
  }
}

/** Until every member has the size, or its volume has and a Pod will do the rest; a refusal ends it at once. */
export function untilExpanded(store: ObjectStore, { name, namespace, seconds }: Waiting) {
  return waitForObject(
    store,
    VolumeGroups,
    { namespace, name },
    {
      seconds,
      done: (group) => {
        if (group === undefined) return "it was deleted";
        const { message, reason, status } = conditionOf(group, "Expanded") ?? {};
        if (!isSeen(group) || status === undefined) return false;
        if (reason === "GrowthRefused") return message ?? "a member may not grow";
        return status === "True" || reason === "NodePending";
      },
      last: (group) =>
        conditionOf(group, "Expanded")?.message ?? lacks(group) ?? "no controller has taken it up",
      progress: (group) => conditionOf(group, "Expanded")?.message,
      next: `mooring why vg/${name} -n ${namespace}`,
    },
  );
}
