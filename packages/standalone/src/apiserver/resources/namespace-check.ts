import { type Namespace, Namespaces, namespaceTerminating } from "@mooring/store";
import type { Api } from "../api.ts";
import type { Target } from "./target.ts";

/** Nothing new comes into a namespace that is not there or is on its way out. */
export function requireLiveNamespace(api: Api, target: Target, name: string): void {
  const { namespace } = target;
  if (namespace === undefined) return;
  const { metadata } = JSON.parse(api.store.getJson(Namespaces, { name: namespace })) as Namespace;
  if (metadata.deletionTimestamp !== undefined) {
    throw namespaceTerminating(target.resource, { namespace, name });
  }
}
