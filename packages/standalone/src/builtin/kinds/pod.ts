import { type DeleteOptions, Pods, type UnstructuredObject } from "@mooring/store";
import {
  ageColumn,
  type BuiltinKind,
  column,
  dig,
  digList,
  digObject,
  digText,
  text,
  wide,
} from "../../kinds/builtin-kind.ts";
import { type FieldError, forbidden } from "../../schema/field-error.ts";
import { clone, type JsonObject, jsonEqual } from "../../schema/model.ts";
import { podTypes } from "../types/pod.ts";
import { defaultPod, qosClass } from "./pod-defaults.ts";
import { summarizePod } from "./pod-status.ts";
import { validatePod } from "./pod-validate.ts";

const FIXED =
  "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n";

function updateErrors(next: UnstructuredObject, old: UnstructuredObject, subresource: string): FieldError[] {
  if (subresource === "status") return [];
  const [after, allowed] = [digObject(next, "spec"), clone(digObject(old, "spec"))];
  for (const field of ["containers", "initContainers", "ephemeralContainers"])
    copyImages(allowed, after, field);
  if (subresource === "ephemeralcontainers") allowed.ephemeralContainers = after.ephemeralContainers;
  for (const field of ["activeDeadlineSeconds", "terminationGracePeriodSeconds"]) {
    if (after[field] !== undefined) allowed[field] = after[field];
  }
  const errors = tolerationErrors(after, allowed);
  allowed.tolerations = after.tolerations;
  // Binding a pod to its node is an update here; once there, it stays.
  if (digText(allowed, "nodeName") === "" && after.nodeName !== undefined) allowed.nodeName = after.nodeName;
  if (digList(allowed, "schedulingGates").length > 0) {
    if (after.schedulingGates === undefined) delete allowed.schedulingGates;
    else allowed.schedulingGates = after.schedulingGates;
  }
  return jsonEqual(allowed, after) ? errors : [...errors, forbidden("spec", FIXED)];
}

function copyImages(allowed: JsonObject, after: JsonObject, field: string): void {
  const wanted = digList(after, field);
  for (const [i, container] of digList(allowed, field).entries()) {
    const image = wanted[i]?.image;
    if (image !== undefined) container.image = image;
  }
}

function tolerationErrors(after: JsonObject, before: JsonObject): FieldError[] {
  const kept = digList(before, "tolerations").every((toleration) =>
    digList(after, "tolerations").some((t) =>
      jsonEqual({ ...t, tolerationSeconds: 0 }, { ...toleration, tolerationSeconds: 0 }),
    ),
  );
  return kept
    ? []
    : [forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")];
}

/** A pod that no kubelet has, or that has ended, goes at once; any other waits for its processes. */
function gracefulDelete(pod: UnstructuredObject, options: DeleteOptions): number {
  const ended = ["Succeeded", "Failed"].includes(digText(pod, "status", "phase"));
  if (digText(pod, "spec", "nodeName") === "" || ended) return 0;
  const wanted =
    options.gracePeriodSeconds ?? Number(dig(pod, "spec", "terminationGracePeriodSeconds") ?? 30);
  return wanted < 0 ? 1 : wanted;
}

function readinessGates(pod: UnstructuredObject): string {
  const gates = digList(pod, "spec", "readinessGates").map((gate) => gate.conditionType);
  if (gates.length === 0) return "<none>";
  const met = digList(pod, "status", "conditions").filter(
    (c) => gates.includes(c.type) && c.status === "True",
  );
  return `${met.length}/${gates.length}`;
}

/** Pods as this server serves them. */
export const pods: BuiltinKind = {
  resource: Pods,
  schema: podTypes.get("Pod"),
  singular: "pod",
  shortNames: ["po"],
  categories: ["all"],
  hasStatus: true,
  columns: [
    column("Ready", (pod, now) => summarizePod(pod, now).ready),
    column("Status", (pod, now) => summarizePod(pod, now).status),
    column("Restarts", (pod, now) => summarizePod(pod, now).restarts),
    ageColumn,
    wide("IP", (pod) => text(dig(pod, "status", "podIPs", 0, "ip") ?? dig(pod, "status", "podIP"))),
    wide("Node", (pod) => text(dig(pod, "spec", "nodeName"))),
    wide("Nominated Node", (pod) => text(dig(pod, "status", "nominatedNodeName"))),
    wide("Readiness Gates", readinessGates),
  ],
  rules: {
    prepareCreate(pod) {
      pod.status = { phase: "Pending", qosClass: qosClass(pod) };
    },
    prepareUpdate(pod, old) {
      const status = digObject(pod, "status");
      const was = dig(old, "status", "qosClass");
      if (was !== undefined) status.qosClass = was;
    },
    defaults: defaultPod,
    validate: validatePod,
    validateUpdate: updateErrors,
    gracefulDelete,
    selectableFields: (pod) => ({
      "spec.nodeName": digText(pod, "spec", "nodeName"),
      "spec.restartPolicy": digText(pod, "spec", "restartPolicy"),
      "spec.schedulerName": digText(pod, "spec", "schedulerName"),
      "spec.serviceAccountName": digText(pod, "spec", "serviceAccountName"),
      "spec.hostNetwork": String(dig(pod, "spec", "hostNetwork") === true),
      "status.phase": digText(pod, "status", "phase"),
      "status.podIP": digText(pod, "status", "podIP"),
      "status.nominatedNodeName": digText(pod, "status", "nominatedNodeName"),
    }),
  },
};
