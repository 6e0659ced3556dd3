import { forbidden, type Namespace, Namespaces, StatusError } from "@mooring/store";
import type { Api } from "../api.ts";
import type { Target } from "./target.ts";

/** Nothing new comes into a namespace that is not there or is on its way out. */
export function requireLiveNamespace(api: Api, target: Target, name: string): void {
  if (target.namespace === undefined) return;
  const namespace = JSON.parse(api.store.getJson(Namespaces, { name: target.namespace })) as Namespace;
  if (namespace.metadata.deletionTimestamp === undefined) return;
  const why = `unable to create new content in namespace ${target.namespace} because it is being terminated`;
  const refused = forbidden(target.resource, name, why);
  throw new StatusError(refused.reason, refused.message, {
    ...refused.details,
    causes: [
      {
        reason: "NamespaceTerminating",
        message: `namespace ${target.namespace} is being terminated`,
        field: "metadata.namespace",
      },
    ],
  });
}
