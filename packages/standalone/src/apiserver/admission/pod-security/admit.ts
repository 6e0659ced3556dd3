import { forbidden, Namespaces, Pods, type UnstructuredObject } from "@mooring/store";
import { invalidObject } from "../../../schema/field-error.ts";
import type { Api } from "../../api.ts";
import { type Call, warn } from "../../http/call.ts";
import type { Target } from "../../resources/target.ts";
import type { Admit } from "../escalation.ts";
import { describePolicy, labelErrors, policyOf, violations } from "./policy.ts";

/** So many pods are checked when a namespace gets a stricter level. */
const MOST_PODS = 500;

/** Pods have to keep to what their namespace's labels say (Pod Security Admission). */
export function podSecurity(call: Call, target: Target, api: Api): Admit | undefined {
  const isPod = target.group === "" && target.plural === "pods" && target.subresource === undefined;
  if (!isPod || target.namespace === undefined) return undefined;
  const { namespace } = target;
  return (pod, old) => {
    if (old !== undefined && JSON.stringify(pod.spec) === JSON.stringify(old.spec)) return;
    const rules = JSON.parse(api.store.getJson(Namespaces, { name: namespace })) as UnstructuredObject;
    checkPod(call, api, { pod, namespace: rules });
  };
}

/** Throws Forbidden for a pod that the labels of its namespace rule out, with everything that does. */
export function requireSecure(pod: UnstructuredObject, namespace: UnstructuredObject): void {
  const enforce = policyOf(namespace, "enforce");
  const found = violations(pod, enforce);
  if (found.length === 0) return;
  const why = `violates PodSecurity ${JSON.stringify(describePolicy(enforce))}: ${found.join(", ")}`;
  // What is to get its name from the server has only the beginning of one.
  throw forbidden(Pods, pod.metadata.name || (pod.metadata.generateName ?? ""), why);
}

function checkPod(
  call: Call,
  { logger }: Api,
  { pod, namespace }: { pod: UnstructuredObject; namespace: UnstructuredObject },
): void {
  const [audit, warning] = [policyOf(namespace, "audit"), policyOf(namespace, "warn")];
  const audited = violations(pod, audit);
  const { name, namespace: inside } = pod.metadata;
  if (audited.length > 0) {
    const entry = { user: call.user.username, namespace: inside, pod: name, policy: describePolicy(audit) };
    logger.info({ ...entry, violations: audited }, "A pod violates the audit level of its namespace");
  }
  requireSecure(pod, namespace);
  const warned = violations(pod, warning);
  if (warned.length > 0)
    warn(call, `would violate PodSecurity ${JSON.stringify(describePolicy(warning))}: ${warned.join(", ")}`);
}

/** Levels and versions in labels have to be ones; existing pods that break a new level are named in warnings. */
export async function namespaceSecurity(call: Call, target: Target, api: Api): Promise<Admit | undefined> {
  if (target.group !== "" || target.plural !== "namespaces" || target.subresource !== undefined)
    return undefined;
  const pods = target.name === undefined ? [] : await podsOf(api, target.name);
  return (namespace, old) => {
    const errors = labelErrors(namespace);
    const before = old === undefined ? [] : labelErrors(old);
    if (errors.length > before.length)
      throw invalidObject({ group: "", kind: "Namespace" }, namespace.metadata.name, errors);
    if (old === undefined) return;
    const [was, is] = [describePolicy(policyOf(old, "enforce")), policyOf(namespace, "enforce")];
    if (was === describePolicy(is)) return;
    const broken = pods
      .map((pod) => `${pod.metadata.name}: ${violations(pod, is).join(", ")}`)
      .filter((line) => !line.endsWith(": "));
    if (broken.length === 0) return;
    const subject = `existing pods in namespace ${JSON.stringify(namespace.metadata.name)}`;
    warn(call, `${subject} violate the new PodSecurity enforce level ${JSON.stringify(describePolicy(is))}`);
    for (const line of broken.slice(0, 10)) warn(call, line);
  };
}

async function podsOf({ store }: Api, namespace: string): Promise<UnstructuredObject[]> {
  const { items } = await store.list(Pods, { namespace, limit: MOST_PODS });
  return items as unknown as UnstructuredObject[];
}
