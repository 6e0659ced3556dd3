import {
  ConfigMaps,
  Events,
  Namespaces,
  Pods,
  type Resource,
  type ResourceRegistry,
  Secrets,
  ServiceAccounts,
} from "@mooring/store";
import type { KindInfo, MutableKindRegistry } from "../kind-info.ts";

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

const PLAIN: readonly KindInfo[] = [
  plainKind(ConfigMaps, { shortNames: ["cm"] }),
  plainKind(Events, { shortNames: ["ev"] }),
  plainKind(Namespaces, { shortNames: ["ns"], subresources: { status: true } }),
  plainKind(Pods, { shortNames: ["po"], subresources: { status: true } }),
  plainKind(Secrets),
  plainKind(ServiceAccounts, { shortNames: ["sa"] }),
];

/** Registers a few core kinds in both registries. */
export function registerPlainKinds(registry: ResourceRegistry, kinds: MutableKindRegistry): void {
  for (const kind of PLAIN) {
    registry.register({ resource: kind.resource, hasStatus: kind.subresources.status });
    kinds.set(kind);
  }
}
