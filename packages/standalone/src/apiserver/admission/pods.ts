import { forbidden, Pods, type UnstructuredObject } from "@mooring/store";
import { PRIORITY_CLASSES } from "../../builtin/kinds/priority-classes.ts";
import { isObject } from "../../schema/model.ts";
import type { Target } from "../resources/target.ts";
import type { Admit } from "./escalation.ts";

/** What of a pod depends on more than the pod. */
export function podAdmission(target: Target): Admit | undefined {
  if (target.group !== "" || target.plural !== "pods" || target.subresource !== undefined) return undefined;
  return (pod, old) => {
    const spec = isObject(pod.spec) ? pod.spec : {};
    const before = isObject(old?.spec) ? old.spec : {};
    if (old === undefined) requireKnownPriority(pod);
    if (old !== undefined && (spec.nodeName ?? "") !== (before.nodeName ?? ""))
      throw forbidden(target.resource, pod.metadata.name, "a pod gets its node by its binding subresource");
  };
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
