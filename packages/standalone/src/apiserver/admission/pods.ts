import {
  forbidden,
  isNotFound,
  type ObjectKey,
  Pods,
  ServiceAccounts,
  type StatusError,
  type UnstructuredObject,
} from "@mooring/store";
import { PRIORITY_CLASSES } from "../../builtin/kinds/priority-classes.ts";
import { isObject } from "../../schema/model.ts";
import type { Api } from "../api.ts";
import type { Target } from "../resources/target.ts";
import type { Admit } from "./escalation.ts";

/** What of a pod depends on more than the pod. */
export function podAdmission(target: Target, { store }: Api): Admit | undefined {
  if (target.group !== "" || target.plural !== "pods" || target.subresource !== undefined) return undefined;
  return (pod, old) => {
    const spec = isObject(pod.spec) ? pod.spec : {};
    const before = isObject(old?.spec) ? old.spec : {};
    if (old === undefined) {
      requireKnownPriority(pod);
      const account = accountOf(pod);
      if (account !== undefined && !exists(store, account)) throw withoutAccount(pod, account);
    }
    if (old !== undefined && (spec.nodeName ?? "") !== (before.nodeName ?? ""))
      throw forbidden(target.resource, pod.metadata.name, "a pod gets its node by its binding subresource");
  };
}

function exists(store: Api["store"], account: ObjectKey): boolean {
  try {
    store.getJson(ServiceAccounts, account);
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

const DEFAULT_ACCOUNT = "default";

/**
 * The service account that has to be there for a new pod. `default` need not be: it is made by itself, and a pod may come in
 * the same moment as its namespace.
 */
export function accountOf({ metadata, spec }: UnstructuredObject): ObjectKey | undefined {
  const { serviceAccountName, serviceAccount } = isObject(spec) ? spec : {};
  const name = String(serviceAccountName || serviceAccount || DEFAULT_ACCOUNT);
  return name === DEFAULT_ACCOUNT ? undefined : { namespace: metadata.namespace ?? "", name };
}

/** What a pod is refused with whose service account is not there. */
export function withoutAccount(
  { metadata }: UnstructuredObject,
  { namespace, name }: ObjectKey,
): StatusError {
  const why = `error looking up service account ${namespace}/${name}: serviceaccount ${JSON.stringify(name)} not found`;
  return forbidden(Pods, metadata.name || (metadata.generateName ?? ""), why);
}

/** Throws Forbidden for a new pod that names a PriorityClass which is not there, or brings a priority that is not its class's. */
export function requireKnownPriority({ metadata, spec }: UnstructuredObject): void {
  const { priorityClassName = "", priority, preemptionPolicy } = isObject(spec) ? spec : {};
  const name = String(priorityClassName ?? "");
  const refuse = (why: string) => forbidden(Pods, metadata.name || (metadata.generateName ?? ""), why);
  const found = name === "" ? 0 : PRIORITY_CLASSES.get(name);
  if (found === undefined) throw refuse(`no PriorityClass with name ${name} was found`);
  const computed = (value: unknown) =>
    `must not be provided in pod spec; priority admission controller computed ${value} from the given PriorityClass name`;
  if ((priority ?? found) !== found)
    throw refuse(`the integer value of priority (${priority}) ${computed(found)}`);
  if ((preemptionPolicy ?? PREEMPTION) !== PREEMPTION)
    throw refuse(`the string value of PreemptionPolicy (${preemptionPolicy}) ${computed(PREEMPTION)}`);
}

/** Of every class that is there. */
const PREEMPTION = "PreemptLowerPriority";
