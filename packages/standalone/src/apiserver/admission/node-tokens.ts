import { forbidden, isNotFound, type Pod, Pods } from "@mooring/store";
import type { Api } from "../api.ts";
import { nodeOf } from "../auth/node-name.ts";
import { tokenAudiences } from "../auth/pod-references.ts";
import type { Call } from "../http/call.ts";
import { driverAudiences } from "./driver-audiences.ts";

interface NodesToken {
  namespace: string;
  /** The name of the service account. */
  account: string;
  audiences: readonly string[];
  boundTo?: { kind?: string; name?: string; uid?: string };
}

/**
 * A node gets tokens for pods only that it runs, bound to them, and for those only that their volumes, or the drivers of those, ask for. Asked before
 * it is known whether there is such an object. Throws Forbidden.
 */
export async function requireOwnPod({ user }: Call, wanted: NodesToken, { store }: Api): Promise<void> {
  const node = nodeOf(user);
  if (node === undefined) return;
  const { namespace, account, audiences, boundTo } = wanted;
  const refuse = (why: string) => {
    throw forbidden({ group: "", plural: "serviceaccounts" }, account, `node ${node}: ${why}`);
  };
  if (boundTo?.kind !== "Pod") return refuse("asks for a token that is not bound to a pod");
  const pod = await store.get<Pod>(Pods, { namespace, name: boundTo.name ?? "" }).catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
  const here = pod?.spec?.nodeName === node && boundTo.uid === pod.metadata.uid;
  if (pod === undefined || !here) return refuse("asks for a token of a pod that it does not run");
  const asked = new Set([...tokenAudiences(pod), ...(await driverAudiences(pod, store))]);
  const other = (audiences.length === 0 ? [""] : audiences).find((audience) => !asked.has(audience));
  if (other !== undefined)
    return refuse(
      `asks for a token for ${JSON.stringify(other)}, which neither the pod nor a driver of its volumes asks for`,
    );
}
