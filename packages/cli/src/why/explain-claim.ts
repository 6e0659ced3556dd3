import { volumeIdOf } from "@mooring/driver";
import { DRIVER_NAME, Volumes } from "@mooring/engine";
import {
  CSIDrivers,
  defined,
  type PersistentVolumeClaim,
  PersistentVolumeClaims,
  PersistentVolumes,
  Pods,
  type StorageClass,
  StorageClasses,
} from "@mooring/store";
import { fullClaims } from "../client/claim-room.ts";
import { isStandalone } from "../client/is-standalone.ts";
import { claimNames } from "./claim-names.ts";
import { setThatMakes, setThatSizes } from "./claim-template.ts";
import { type Context, lastWarning, read } from "./context.ts";
import { explainSource } from "./explain-source.ts";
import { explainVolume } from "./explain-volume.ts";
import { type Finding, type FindingState, finding } from "./finding.ts";

const PVC_PROTECTION = "kubernetes.io/pvc-protection";
const SELECTED_NODE = "volume.kubernetes.io/selected-node";

/** What the claim names, or should, and is not there. */
async function missing(
  context: Context,
  subject: string,
  { metadata, spec = {} }: PersistentVolumeClaim,
  storageClass: StorageClass | undefined,
): Promise<Finding | undefined> {
  const { storageClassName: className, volumeName } = spec;
  const named =
    volumeName === undefined ? undefined : await read(context, PersistentVolumes, { name: volumeName });
  const other = named?.spec?.claimRef;
  const { name, namespace, uid } = metadata;
  const isTaken =
    other !== undefined &&
    (other.namespace !== namespace || other.name !== name || (other.uid ?? uid) !== uid);
  if (isTaken) {
    const what = `names PersistentVolume ${volumeName}, which claim ${other.namespace}/${other.name} has`;
    const next = `a claim's volume cannot be changed: delete it, and create it again with another spec.volumeName or none, kubectl delete pvc -n ${namespace} ${name}`;
    return finding("failed", subject, what, { next });
  }
  if (volumeName !== undefined && named === undefined) {
    const next = `create PersistentVolume ${volumeName}, or create the claim again without spec.volumeName`;
    return finding("waiting", subject, `names PersistentVolume ${volumeName}, which does not exist`, {
      next,
    });
  }
  // Its PersistentVolume is chosen: the class is a word that both have, and need not be there.
  if (volumeName !== undefined) return undefined;
  if (className === undefined) {
    return finding("waiting", subject, "no StorageClass is named and none is the default", {
      next: "set spec.storageClassName, or mark a class as default",
    });
  }
  if (className === "" || storageClass !== undefined) return undefined;
  return finding("failed", subject, `StorageClass ${className} does not exist`, {
    next: `create StorageClass ${className}, or create the claim again with another class (kubectl get sc)`,
  });
}

async function unbound(context: Context, subject: string, claim: PersistentVolumeClaim): Promise<Finding> {
  const { name, namespace = "default" } = claim.metadata;
  const { storageClassName: className } = claim.spec ?? {};
  const storageClass = className ? await read(context, StorageClasses, { name: className }) : undefined;
  const lacking = await missing(context, subject, claim, storageClass);
  if (lacking !== undefined) return lacking;
  const source = await explainSource(context, claim);
  if (source !== undefined)
    return finding("waiting", subject, "waits for its source", { children: [source] });
  const children = storageClass?.provisioner === DRIVER_NAME ? await madeForIt(context, claim) : [];
  const warning = await lastWarning(context, claim);
  if (warning !== undefined) {
    return finding(
      "failed",
      subject,
      `${warning.reason}: ${warning.message} (${warning.count ?? 1} times; it is retried)`,
      {
        next: NO_ROOM.test(warning.message ?? "")
          ? await smallerOrLater(context, claim)
          : `put right what it says, and it goes on by itself: kubectl describe pvc -n ${namespace} ${name}`,
        children,
      },
    );
  }
  const waitsForPod =
    storageClass?.volumeBindingMode === "WaitForFirstConsumer" &&
    claim.metadata.annotations?.[SELECTED_NODE] === undefined;
  if (waitsForPod) {
    const users = await usersOf(context, claim);
    if (users.length === 0) {
      const what = `its class ${className} binds when a Pod uses the claim, and none does yet`;
      return finding("waiting", subject, what, { next: "create a Pod that mounts it" });
    }
    const [first] = users;
    const what = `its class ${className} binds once a Pod that uses it has a node: ${users.join(", ")}`;
    return finding("waiting", subject, what, { next: `mooring why pod/${first} -n ${namespace}` });
  }
  return finding(
    "waiting",
    subject,
    `waits for ${storageClass?.provisioner ?? "a matching PersistentVolume"}`,
    { next: await toBeProvisioned(context, storageClass?.provisioner), children },
  );
}

/** As the driver says it (`controller/choose-pool.ts` of `driver`). */
const NO_ROOM = /\bno pool has room\b/;

/** What a claim asks for cannot be changed before it has a volume. */
async function smallerOrLater(context: Context, claim: PersistentVolumeClaim): Promise<string> {
  const { name, namespace = "default" } = claim.metadata;
  const room = "make room in a pool, and it goes on by itself";
  const made = await setThatMakes(context, claim);
  if (made === undefined)
    return `${room}; or create it again with a smaller size: kubectl delete pvc -n ${namespace} ${name}`;
  // A cluster takes no other template for a set that is there.
  const less = (await isStandalone(context.store).catch(() => false))
    ? `ask for less in its StatefulSet, and have it made again: kubectl edit sts -n ${namespace} ${made.set}`
    : `create its StatefulSet again with a smaller template: kubectl delete sts -n ${namespace} --cascade=orphan ${made.set}`;
  return `${room}; or ${less}, kubectl delete -n ${namespace} pvc/${name} pod/${made.pod}`;
}

/** A volume of ours that is not whole yet: a call that gave up waiting for it knows nothing of why. */
async function madeForIt(context: Context, { metadata }: PersistentVolumeClaim): Promise<Finding[]> {
  const name = volumeIdOf(`pvc-${metadata.uid}`);
  const volume = await read(context, Volumes, { name });
  return volume?.status?.error === undefined ? [] : [await explainVolume(context, name)];
}

async function toBeProvisioned(context: Context, provisioner: string | undefined): Promise<string> {
  if (provisioner === undefined)
    return "create a PersistentVolume that fits, or create the claim again with a class (kubectl get sc)";
  // Provisioners that are no CSI drivers have a path for a name.
  const isDriver = !provisioner.includes("/");
  const driver = isDriver ? await read(context, CSIDrivers, { name: provisioner }) : undefined;
  return driver === undefined
    ? `no driver ${provisioner} is registered: install it, or create the claim again with another class (kubectl get csidrivers,sc)`
    : `see that the controllers of driver ${provisioner} run`;
}

/** Names of the pods that use it and have not ended. */
async function usersOf({ store }: Context, claim: PersistentVolumeClaim): Promise<string[]> {
  const { items } = await store.list(Pods, { namespace: claim.metadata.namespace ?? "default" });
  return items
    .filter(({ status }) => status?.phase !== "Succeeded" && status?.phase !== "Failed")
    .filter((pod) => claimNames(pod).includes(claim.metadata.name))
    .map(({ metadata }) => metadata.name);
}

/** What a pod of the claim's namespace has to do with a deletion that does not end. */
async function deleting(
  context: Context,
  subject: string,
  claim: PersistentVolumeClaim,
  children: Finding[],
): Promise<Finding> {
  const { name, namespace, finalizers = [] } = claim.metadata;
  const users = finalizers.includes(PVC_PROTECTION) ? await usersOf(context, claim) : [];
  if (users.length > 0) {
    const what = `is being deleted, and used by ${users.map((user) => `Pod ${user}`).join(", ")}: it goes when they have gone`;
    return finding("waiting", subject, what, {
      children,
      next: `kubectl delete pod -n ${namespace} ${users.join(" ")}`,
    });
  }
  const next = `it ends when the controllers that set them have done their part: mooring doctor, kubectl describe pvc -n ${namespace} ${name}`;
  return finding("waiting", subject, `is being deleted; held by ${finalizers.join(", ")}`, {
    children,
    next,
  });
}

/** Where its user asks for something else, when the driver has refused what the claim asks for. */
async function askForLess(context: Context, claim: PersistentVolumeClaim): Promise<string> {
  const { name, namespace } = claim.metadata;
  const isGrowth = claim.status?.allocatedResourceStatuses?.["storage"] !== undefined;
  const set = isGrowth ? await setThatSizes(context, claim) : undefined;
  return set === undefined
    ? `ask for what the driver can do (a smaller size, another class), and it goes on: kubectl edit pvc -n ${namespace} ${name}`
    : `ask for less in the volumeClaimTemplates of its StatefulSet, which raises the claim to that, and lowers it again: kubectl edit sts -n ${namespace} ${set} (or helm rollback)`;
}

/** A growth, or a change of attributes, that is under way or cannot be made. */
async function explainChange(
  context: Context,
  claim: PersistentVolumeClaim,
): Promise<{ state: FindingState; message: string; next?: string } | undefined> {
  const { conditions = [], allocatedResourceStatuses = {}, modifyVolumeStatus } = claim.status ?? {};
  const infeasible = Object.values(allocatedResourceStatuses).find((status) =>
    status?.endsWith("Infeasible"),
  );
  const wrong = conditions.find(({ status, type }) => status === "True" && /Error$/.test(type));
  if (infeasible !== undefined || wrong !== undefined || modifyVolumeStatus?.status === "Infeasible") {
    // What the driver returned is in the event; the state only shows that it has refused.
    const warning = await lastWarning(context, claim);
    const state = wrong?.type ?? infeasible ?? "ModifyVolumeInfeasible";
    const message = `${state}: ${warning?.message ?? wrong?.message ?? "the driver has refused it, and no event has the reason"}`;
    return { state: "failed", message, next: await askForLess(context, claim) };
  }
  const changing = conditions.find(({ status, type }) => status === "True" && /Resiz|Modify/.test(type));
  if (changing === undefined) return undefined;
  const waitsForNode = changing.type === "FileSystemResizePending";
  return {
    state: "waiting",
    message: `${changing.type}: ${changing.message ?? "under way"}`,
    ...(waitsForNode ? { next: "start a pod that uses it: the file system grows where it is mounted" } : {}),
  };
}

/** A claim that is as it should be, and has no room left for what its pods write. */
async function full(
  { store }: Context,
  subject: string,
  { metadata: { name, namespace = "default" }, status }: PersistentVolumeClaim,
  children: Finding[],
): Promise<Finding | undefined> {
  const found = (await fullClaims(store)).find((each) => each.namespace === namespace && each.claim === name);
  if (found === undefined) return undefined;
  const size = status?.capacity?.["storage"];
  const next = `delete files in it, or make it larger than ${size}: kubectl patch pvc -n ${namespace} ${name} --type merge -p '{"spec":{"resources":{"requests":{"storage":"SIZE"}}}}'`;
  return finding("failed", subject, found.why, { next, children });
}

/** A claim, down to the volume behind it. */
export async function explainClaim(context: Context, namespace: string, name: string): Promise<Finding> {
  const subject = `PersistentVolumeClaim ${namespace}/${name}`;
  const claim = await read(context, PersistentVolumeClaims, { namespace, name });
  if (claim === undefined) {
    return finding("failed", subject, "does not exist", { next: `kubectl get pvc -n ${namespace}` });
  }
  const volumeName = claim.spec?.volumeName;
  const isBound = ["Bound", "Lost"].includes(claim.status?.phase ?? "");
  if (!isBound && claim.metadata.deletionTimestamp !== undefined)
    return deleting(context, subject, claim, []);
  if (!isBound || volumeName === undefined) return unbound(context, subject, claim);
  const pv = await read(context, PersistentVolumes, { name: volumeName });
  const children = [];
  if (pv?.spec?.csi?.driver === DRIVER_NAME)
    children.push(await explainVolume(context, pv.spec.csi.volumeHandle));
  if (claim.metadata.deletionTimestamp !== undefined) return deleting(context, subject, claim, children);
  if (pv === undefined) {
    const next = `its data are lost unless the PersistentVolume is made again: kubectl describe pvc -n ${namespace} ${name}`;
    return finding("failed", subject, `PersistentVolume ${volumeName} does not exist`, { next });
  }
  const change = await explainChange(context, claim);
  if (change === undefined)
    return (
      (await full(context, subject, claim, children)) ??
      finding("ok", subject, `bound to ${volumeName}`, { children })
    );
  const { state, message, next } = change;
  return finding(state, subject, message, { children, ...defined({ next }) });
}
