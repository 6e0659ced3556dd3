import type { Resource } from "@mooring/store";
import type { KindInfo } from "../../kinds/kind-info.ts";

/** A kind without schema, rules and columns: what the server does on its own. */
export function plainKind(resource: Resource, overrides: Partial<KindInfo> = {}): KindInfo {
  return {
    resource,
    versions: [resource.version],
    singular: resource.kind.toLowerCase(),
    shortNames: [],
    categories: [],
    listKind: `${resource.kind}List`,
    columns: {},
    subresources: { status: false },
    custom: false,
    schema: () => undefined,
    ...overrides,
  };
}
