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

/** Throws Forbidden for a new pod that names a PriorityClass which is not there. */
export function requireKnownPriority({ metadata, spec }: UnstructuredObject): void {
  const { priorityClassName = "" } = isObject(spec) ? spec : {};
  if (priorityClassName === "" || isKnown(String(priorityClassName))) return;
  const why = `no PriorityClass with name ${String(priorityClassName)} was found`;
  throw forbidden(Pods, metadata.name || (metadata.generateName ?? ""), why);
}

const isKnown = (name: string) => PRIORITY_CLASSES.has(name);
