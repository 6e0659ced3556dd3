import { type GroupMember, type VolumeGroup, VolumeGroupContents, VolumeGroups } from "@mooring/sidecars";
import { defined } from "@mooring/store";
import { type Context, lastWarning, read } from "./context.ts";
import { explainClaim } from "./explain-claim.ts";
import { type Finding, type FindingState, finding } from "./finding.ts";

type Place = { group: string; namespace: string };

/** What an operator does about a claim that is not in the group, by the reason that the group gives. */
const ABOUT_MEMBER: Readonly<Record<string, (claim: string, place: Place, message: string) => string>> = {
  ClaimMissing: (claim, { group, namespace }) =>
    `create claim ${claim}, or take the name away: mooring group remove ${group} ${claim} -n ${namespace}`,
  OtherDriver: (claim, { group, namespace }) =>
    `a group is of one driver; take the claim out: mooring group remove ${group} ${claim} -n ${namespace}`,
  InAnotherGroup: (claim, { namespace }, message) => {
    const owner = /^the claim is in VolumeGroup ([^ ;]+);/.exec(message)?.[1];
    return owner === undefined
      ? "take it out of that group by the operator that keeps it, which is not Mooring; it joins by itself then"
      : `take it out of the group that has it: mooring group remove ${owner} ${claim} -n ${namespace}`;
  },
  NamesAnotherGroup: (claim, { namespace }) =>
    `change what it asks for: kubectl annotate pvc -n ${namespace} ${claim} storage.mooring.dev/volume-group-`,
  TooManyMembers: (_claim, { group, namespace }) =>
    `take claims out (mooring group remove ${group} CLAIM -n ${namespace}), or raise maxMembers of its VolumeGroupContent`,
  VolumeTwice: () => "two claims stand for one volume: delete one of them",
  RefusedByDriver: (claim, { namespace }) =>
    `put right what the driver reports; it is asked again by itself: kubectl describe pvc -n ${namespace} ${claim}`,
  TakenOut: (_claim, { group }) =>
    `put it back on the storage system, or have it repaired: set driftPolicy: Repair on the VolumeGroupContent of ${group}`,
  VolumeMissing: (claim, { namespace }) =>
    `bring its PersistentVolume back, or delete the claim: kubectl delete pvc -n ${namespace} ${claim}`,
};

/** The same for what keeps the whole group. */
const ABOUT_GROUP: Readonly<Record<string, string>> = {
  ClassMissing:
    "kubectl get volumegroupclasses; create the class, or make another group with one that is there",
  ClassMismatch: "a group stays with its driver: make another group with a class of it",
  ClassInvalid: "correct the class: kubectl get volumegroupclasses -o yaml",
  ContentMissing: "create the VolumeGroupContent that spec.source names",
  ContentMismatch: "kubectl get volumegroupcontents -o yaml; correct what it names, or use another one",
  ContentDeleting: "its VolumeGroupContent is being deleted: delete the group as well",
  CallFailed: "put right what the driver reports; it is tried again by itself",
  GroupMissing: "it was deleted on the storage system: delete this VolumeGroup, and make it anew",
  SelectorInvalid: "correct spec.source.selector",
  MembershipDrift: "kubectl describe its VolumeGroupContent; driftPolicy: Repair puts it right",
};

const OF_STATE: Readonly<Record<GroupMember["state"], FindingState>> = {
  ...{ Joined: "ok", Waiting: "waiting", Joining: "waiting", Leaving: "waiting" },
  ...{ LeftOut: "failed", Lost: "failed", Drifted: "failed" },
};

/** A volume group, down to the claims that are not in it, the driver's error, or the group snapshot that keeps it frozen. */
export async function explainVolumeGroup(
  context: Context,
  namespace: string,
  name: string,
): Promise<Finding> {
  const subject = `VolumeGroup ${namespace}/${name}`;
  const group = await read(context, VolumeGroups, { namespace, name });
  if (group === undefined)
    return finding("failed", subject, "does not exist", { next: `mooring group list -n ${namespace}` });
  const { status } = group;
  if (status === undefined)
    return finding("waiting", subject, "no controller has taken it up", {
      next: "its driver must announce VOLUME_GROUP and MODIFY_VOLUME_GROUP, and the controller volume-group run: mooring up, or mooring controller",
    });
  const children = await members(context, group, { group: name, namespace });
  for (const { claimName, message, reason } of status.growth?.waiting ?? []) {
    const next =
      reason === "Refused"
        ? `let it grow (kubectl get sc; quota), or ask for less: kubectl edit vg -n ${namespace} ${name}`
        : `kubectl describe pvc -n ${namespace} ${claimName}`;
    const claim = `PersistentVolumeClaim ${namespace}/${claimName}`;
    children.push(
      finding(reason === "Refused" ? "failed" : "waiting", claim, `${reason}: ${message}`, { next }),
    );
  }
  // Not explained further here: a group snapshot that waits for the group leads back to it.
  for (const { name: snapshotName } of status.frozenFor ?? [])
    children.push(
      finding(
        "waiting",
        `VolumeGroupSnapshot ${namespace}/${snapshotName}`,
        "is being made; no volume joins or leaves until then",
        {
          next: `mooring why vgs/${snapshotName} -n ${namespace}; to let the group go on without it: kubectl delete vgs -n ${namespace} ${snapshotName} --wait=false`,
        },
      ),
    );
  return root(context, group, children);
}

async function members(context: Context, { status }: VolumeGroup, place: Place): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { claimName, message, reason, state } of status?.members ?? []) {
    if (state === "Joined") continue;
    if (reason === "NotBound") {
      // It joins when it is bound, which may be when a pod wants it.
      findings.push({ ...(await explainClaim(context, place.namespace, claimName)), aside: true });
      continue;
    }
    const next = ABOUT_MEMBER[reason]?.(claimName, place, message);
    const subject = `PersistentVolumeClaim ${place.namespace}/${claimName}`;
    findings.push(finding(OF_STATE[state], subject, `${state}: ${message}`, defined({ next })));
  }
  return findings;
}

/** The worst of what the conditions say. */
async function root(context: Context, group: VolumeGroup, children: Finding[]): Promise<Finding> {
  const { name, namespace = "", deletionTimestamp } = group.metadata;
  const subject = `VolumeGroup ${namespace}/${name}`;
  const of = (type: string) => group.status?.conditions?.find((condition) => condition.type === type);
  const [bound, ready, synced, degraded] = ["Bound", "Ready", "MembersSynced", "Degraded"].map(of);
  const explain = (state: FindingState, condition: typeof bound, otherwise: string): Finding => {
    const message = condition?.message ?? otherwise;
    const next = aboutSecret(message) ?? ABOUT_GROUP[condition?.reason ?? ""];
    return finding(state, subject, message, { children, ...defined({ next }) });
  };
  if (deletionTimestamp !== undefined) return explain("waiting", ready, "is being deleted");
  const isAboutClaims = degraded?.reason === "ClaimsLeftOut" || degraded?.reason === "VolumesMissing";
  if (degraded?.status === "True" && !isAboutClaims) {
    const content = await contentTrouble(context, group);
    if (content !== undefined) children.push(content);
    return explain("failed", degraded, "is degraded");
  }
  if (bound?.status !== "True") return explain("waiting", bound, "is not bound yet");
  if (ready?.status !== "True") return explain("waiting", ready, "is not ready yet");
  if (synced?.status !== "True") return explain("waiting", synced, "its members are changing");
  const going = await contentThatGoes(context, group);
  if (going !== undefined)
    return finding("waiting", subject, `VolumeGroupContent ${going} is being deleted`, {
      children,
      next: `it goes when the group does: kubectl delete vg -n ${namespace} ${name}`,
    });
  const { memberCount = 0 } = group.status ?? {};
  return finding("ok", subject, `ready, with ${memberCount} volumes`, { children });
}

/** What keeps a call for want of its secret is nothing that the driver has reported. */
function aboutSecret(message: string): string | undefined {
  const [, namespace, name] = /^secret ([^/ ]+)\/([^/ ]+) does not exist$/.exec(message) ?? [];
  return name === undefined
    ? undefined
    : `create it with what the storage system wants, and the group goes on by itself: kubectl create secret generic ${name} -n ${namespace} --from-literal=KEY=VALUE`;
}

async function contentThatGoes(context: Context, { status }: VolumeGroup): Promise<string | undefined> {
  const name = status?.boundVolumeGroupContentName;
  const content = name === undefined ? undefined : await read(context, VolumeGroupContents, { name });
  return content?.metadata.deletionTimestamp === undefined ? undefined : name;
}

/** The last warning about the content, where the group's own conditions do not have it. */
async function contentTrouble(context: Context, group: VolumeGroup): Promise<Finding | undefined> {
  const name = group.status?.boundVolumeGroupContentName;
  const content = name === undefined ? undefined : await read(context, VolumeGroupContents, { name });
  if (content === undefined) return undefined;
  const warning = await lastWarning(context, content);
  if (warning === undefined) return undefined;
  return finding("waiting", `VolumeGroupContent ${name}`, `${warning.reason}: ${warning.message}`);
}
