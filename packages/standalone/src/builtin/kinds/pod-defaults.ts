import type { UnstructuredObject } from "@mooring/store";
import { digList, digObject, digText } from "../../kinds/builtin-kind.ts";
import { isObject, type JsonObject } from "../../schema/model.ts";
import { compareQuantities } from "../../schema/quantity.ts";
import { PRIORITY_CLASSES } from "./priority-classes.ts";

const NOT_READY = "node.kubernetes.io/not-ready";
const UNREACHABLE = "node.kubernetes.io/unreachable";
/** How long a pod outlives its node, unless it tolerates the taints otherwise. */
const TOLERATION_SECONDS = 300;

/** Defaults of a pod that depend on its other fields, admission plug-ins of a usual cluster included. */
export function defaultPod(pod: UnstructuredObject): void {
  const spec = digObject(pod, "spec");
  defaultPodSpec(spec);
  const account = digText(spec, "serviceAccountName") || digText(spec, "serviceAccount") || "default";
  spec.serviceAccountName = account;
  spec.serviceAccount = account;
  spec.priority ??= PRIORITY_CLASSES.get(digText(spec, "priorityClassName")) ?? 0;
  spec.preemptionPolicy ??= "PreemptLowerPriority";
  if (spec.hostNetwork === true) defaultHostPorts(spec);
  if (Number(spec.terminationGracePeriodSeconds) < 0) spec.terminationGracePeriodSeconds = 1;
  spec.tolerations = withNodeTolerations(digList(spec, "tolerations"));
}

/** Defaults that the templates of workloads get, too. */
export function defaultPodSpec(spec: JsonObject): void {
  for (const container of [...digList(spec, "initContainers"), ...digList(spec, "containers")]) {
    defaultContainer(container);
  }
  for (const volume of digList(spec, "volumes")) {
    if (Object.keys(volume).every((field) => field === "name")) volume.emptyDir = {};
  }
}

function defaultContainer(container: JsonObject): void {
  const image = digText(container, "image");
  const tag = /:([^/:@]+)(?:@.*)?$/.exec(image)?.[1];
  const pinned = image.includes("@") || (tag !== undefined && tag !== "latest");
  container.imagePullPolicy ??= pinned ? "IfNotPresent" : "Always";
  const resources = digObject(container, "resources");
  const limits = digObject(resources, "limits");
  for (const probe of PROBES) if (isObject(container[probe])) defaultProbe(container[probe]);
  if (Object.keys(limits).length > 0) resources.requests = { ...limits, ...digObject(resources, "requests") };
}

const PROBES = ["livenessProbe", "readinessProbe", "startupProbe"];
const PROBE_DEFAULTS = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 };

/** As in Kubernetes, 0 is the default as well. */
function defaultProbe(probe: JsonObject): void {
  for (const [field, value] of Object.entries(PROBE_DEFAULTS)) if (!probe[field]) probe[field] = value;
}

function defaultHostPorts(spec: JsonObject): void {
  for (const port of digList(spec, "containers").flatMap((container) => digList(container, "ports"))) {
    port.hostPort ??= port.containerPort;
  }
}

function withNodeTolerations(tolerations: JsonObject[]): JsonObject[] {
  const covers = (key: string) =>
    tolerations.some(
      (t) =>
        (digText(t, "key") === key || digText(t, "key") === "") &&
        ["", "NoExecute"].includes(digText(t, "effect")),
    );
  const added = [NOT_READY, UNREACHABLE]
    .filter((key) => !covers(key))
    .map((key) => ({ key, operator: "Exists", effect: "NoExecute", tolerationSeconds: TOLERATION_SECONDS }));
  return [...tolerations, ...added];
}

/** Quality of service class, from what the containers ask for. */
export function qosClass(pod: UnstructuredObject): "Guaranteed" | "Burstable" | "BestEffort" {
  const containers = [...digList(pod, "spec", "initContainers"), ...digList(pod, "spec", "containers")];
  const asked = containers.flatMap((c) =>
    ["requests", "limits"].flatMap((side) =>
      Object.entries(digObject(c, "resources", side)).filter(
        ([name, amount]) => ["cpu", "memory"].includes(name) && compareQuantities(String(amount), "0") > 0,
      ),
    ),
  );
  if (asked.length === 0) return "BestEffort";
  const guaranteed = containers.every((c) => {
    const { requests, limits } = digObject(c, "resources");
    return ["cpu", "memory"].every((name) => {
      const limit = isObject(limits) ? limits[name] : undefined;
      const request = isObject(requests) ? requests[name] : undefined;
      return limit !== undefined && compareQuantities(String(limit), String(request ?? limit)) === 0;
    });
  });
  return guaranteed ? "Guaranteed" : "Burstable";
}
