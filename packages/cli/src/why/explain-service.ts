import { defineResource, type KubeObject, Pods } from "@mooring/store";
import { type Context, read } from "./context.ts";
import { explainAny } from "./explain-any.ts";
import { explainPod } from "./explain-pod.ts";
import { type Finding, finding } from "./finding.ts";

interface Service extends KubeObject {
  spec?: { selector?: Record<string, string> };
}

export const Services = defineResource<Service>({
  ...{ group: "", version: "v1", kind: "Service", plural: "services", namespaced: true },
});
export const Endpoints = defineResource<KubeObject>({
  ...{ group: "", version: "v1", kind: "Endpoints", plural: "endpoints", namespaced: true },
});
export const EndpointSlices = defineResource<KubeObject>({
  ...{ group: "discovery.k8s.io", version: "v1", kind: "EndpointSlice", plural: "endpointslices" },
  namespaced: true,
});

/** Pods that are explained below one Service; more would hide what is above. */
const MOST = 5;

/** Which pods a Service leads to, and why those that it could lead to are not ready. */
export async function explainService(context: Context, namespace: string, name: string): Promise<Finding> {
  const service = await read(context, Services, { namespace, name });
  const { selector = {} } = service?.spec ?? {};
  if (
    service === undefined ||
    service.metadata.deletionTimestamp !== undefined ||
    Object.keys(selector).length === 0
  )
    return explainAny(context, Services, { namespace, name });
  const subject = `Service ${namespace}/${name}`;
  const labels = Object.entries(selector)
    .map(([key, value]) => `${key}=${value}`)
    .join(",");
  const { items } = await context.store.list(Pods, { namespace, labelSelector: labels });
  if (items.length === 0)
    return finding("waiting", subject, `no pod has the labels that it selects (${labels})`, {
      next: `kubectl get pods -n ${namespace} --show-labels`,
    });
  const isReady = ({ status }: (typeof items)[number]): boolean =>
    status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") === true;
  const unready = items.filter((pod) => !isReady(pod));
  const message = `${items.length - unready.length} of the ${items.length} pods that it selects are ready`;
  const children: Finding[] = [];
  for (const { metadata } of unready.slice(0, MOST))
    children.push(await explainPod(context, namespace, metadata.name));
  return finding(unready.length === items.length ? "waiting" : "ok", subject, message, { children });
}
