import { ResourceRegistry } from "../local/registry.ts";
import { defined } from "../object/defined.ts";
import type { KubeObject } from "../object/meta.ts";
import { defineResource } from "../object/resource.ts";

/** A namespaced kind with status, for tests. */
export interface Widget extends KubeObject {
  spec?: { size?: number; color?: string };
  status?: { phase?: string };
}
/** Served at `/apis/example.com/v1/namespaces/NAMESPACE/widgets`. */
export const Widgets = defineResource<Widget>({
  group: "example.com",
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  namespaced: true,
});

/** A cluster-scoped kind without status. */
export interface Shelf extends KubeObject {
  data?: Record<string, string>;
}
/** Served at `/api/v1/shelves`: cluster-wide, in the core group. */
export const Shelves = defineResource<Shelf>({
  group: "",
  version: "v1",
  kind: "Shelf",
  plural: "shelves",
  namespaced: false,
});

/** A registry of both kinds, as every store under test serves them. */
export function testRegistry(): ResourceRegistry {
  return new ResourceRegistry([
    { resource: Widgets, hasStatus: true, strategy: { selectableFields } },
    { resource: Shelves, hasStatus: false },
  ]);
}

function selectableFields(object: KubeObject): Record<string, string> {
  return { "spec.color": (object as Widget).spec?.color ?? "" };
}

/** A Widget of namespace `default`, not yet created. */
export function widget(name: string, spec: Widget["spec"] = {}, labels?: Record<string, string>): Widget {
  return {
    apiVersion: "example.com/v1",
    kind: "Widget",
    metadata: { name, namespace: "default", ...defined({ labels }) },
    spec,
  };
}

/** A cluster-wide Shelf, not yet created. */
export function shelf(name: string, data?: Record<string, string>): Shelf {
  return { apiVersion: "v1", kind: "Shelf", metadata: { name }, ...defined({ data }) };
}
