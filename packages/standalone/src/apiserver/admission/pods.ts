import { forbidden } from "@mooring/store";
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
    const { priorityClassName = "" } = spec;
    if (old === undefined && priorityClassName !== "" && !isKnown(String(priorityClassName))) {
      const why = `no PriorityClass with name ${String(priorityClassName)} was found`;
      throw forbidden(target.resource, pod.metadata.name, why);
    }
    if (old !== undefined && (spec.nodeName ?? "") !== (before.nodeName ?? ""))
      throw forbidden(target.resource, pod.metadata.name, "a pod gets its node by its binding subresource");
  };
}

const isKnown = (name: string) => Object.hasOwn(PRIORITY_CLASSES, name);
