import { forbidden, isNotFound, type UnstructuredObject } from "@mooring/store";
import type { Api } from "../api.ts";
import { logAccessName } from "../auth/node-authorizer.ts";
import { nodeOf } from "../auth/node-name.ts";
import type { Call } from "../http/call.ts";
import { type ItemTarget, keyOfTarget, type Target } from "../resources/target.ts";
import type { Admit } from "./escalation.ts";
import { ownBarrier, ownLease, ownPool, ownShare, ownSnapshot, ownVolume } from "./node-engine-objects.ts";
import { type Check, claimOfPod, ownName, ownNode, ownPod } from "./node-objects.ts";

const GROUP = "storage.mooring.dev";

const CHECKS: Readonly<Record<string, Check>> = {
  "/nodes": ownNode,
  "/pods": ownPod,
  "/secrets": (node, { next, old }) =>
    old === undefined && next.metadata.name !== logAccessName(node)
      ? "a node makes the Secret of its own logs only"
      : undefined,
  "/persistentvolumeclaims": claimOfPod,
  "/events": () => undefined,
  "events.k8s.io/events": () => undefined,
  "coordination.k8s.io/leases": ownLease,
  "storage.k8s.io/csinodes": ownName,
  [`${GROUP}/nodeagents`]: ownName,
  [`${GROUP}/pools`]: ownPool,
  [`${GROUP}/volumes`]: ownVolume,
  [`${GROUP}/snapshots`]: ownSnapshot,
  [`${GROUP}/groupsnapshots`]: ownBarrier,
  [`${GROUP}/sharemanagers`]: ownShare,
};

/** What a node takes away has to be its own, too: of what it may delete, leases are known by more than their name. */
export function nodeDeletion({ user }: Call, target: ItemTarget, { store }: Api): void {
  const node = nodeOf(user);
  if (node === undefined || target.plural !== "leases") return;
  let lease: UnstructuredObject;
  try {
    lease = JSON.parse(store.getJson(target.resource, keyOfTarget(target))) as UnstructuredObject;
  } catch (error) {
    if (isNotFound(error)) return;
    throw error;
  }
  const why = ownLease(node, { next: lease, old: lease }, { store });
  if (why !== undefined) throw forbidden(target.resource, target.name, `node ${node}: ${why}`);
}

/** A node writes its own objects, and of others what relates to it. */
export function nodeRestriction({ user }: Call, target: Target, { store }: Api): Admit | undefined {
  const node = nodeOf(user);
  if (node === undefined) return undefined;
  const key = `${target.group}/${target.plural}`;
  const check = Object.hasOwn(CHECKS, key) ? CHECKS[key] : undefined;
  return (next, old) => {
    // What RBAC gives to a node beyond the rule book is an administrator's business.
    const why = check?.(node, { next, old }, { store });
    if (why !== undefined) throw forbidden(target.resource, next.metadata.name, `node ${node}: ${why}`);
  };
}
