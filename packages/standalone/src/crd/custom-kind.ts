import type { Resource, ResourceDefinition, UnstructuredObject } from "@mooring/store";
import { defined } from "@mooring/store";
import type { Column, KindInfo } from "../kinds/kind-info.ts";
import { createStrategy } from "../schema/create-strategy.ts";
import type { Schema } from "../schema/model.ts";
import { objectMetaSchema } from "../schema/object-meta.ts";
import { unknownFields } from "../schema/prune.ts";
import { readPath } from "./simple-path.ts";
import { withReadableSize } from "./size-columns.ts";
import type { CrdVersion, CustomResourceDefinition } from "./types.ts";

/** What a definition makes known: the kind to the store, and to the API server. */
interface CustomKind {
  definition: ResourceDefinition;
  info: KindInfo;
}

/** A definition as a kind that the server can serve. */
export function customKind(crd: CustomResourceDefinition): CustomKind {
  const { group, names, scope, versions } = crd.spec;
  const storage = versions.find((version) => version.storage) ?? versions[0];
  if (storage === undefined) throw new Error(`${crd.metadata.name} has no version`);
  const served = versions.filter((version) => version.served).sort((a, b) => compareVersions(a.name, b.name));
  const resource: Resource = {
    group,
    version: storage.name,
    kind: names.kind,
    plural: names.plural,
    namespaced: scope === "Namespaced",
  };
  const schemas = new Map(versions.map((version) => [version.name, fullSchema(version)]));
  const full = schemas.get(storage.name) ?? fullSchema(storage);
  const common = {
    singular: names.singular ?? names.kind.toLowerCase(),
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
  };
  const hasStatus = versions.some((version) => version.subresources?.status !== undefined);
  const scale = versions.find((version) => version.subresources?.scale !== undefined)?.subresources?.scale;
  const warnings = Object.fromEntries(
    served.filter((v) => v.deprecated === true).map((v) => [v.name, deprecation(crd, v)]),
  );
  return {
    definition: {
      resource,
      versions: served.map((version) => version.name),
      hasStatus,
      ...(scale === undefined ? {} : { hasScale: true }),
      ...common,
      strategy: createStrategy({
        group,
        version: storage.name,
        kind: names.kind,
        schema: full,
        custom: true,
        hasStatus,
        rules: { name: "subdomain", selectableFields: (object) => selectable(storage, object) },
      }),
    },
    info: {
      resource,
      versions: served.map((version) => version.name),
      ...common,
      listKind: names.listKind ?? `${names.kind}List`,
      columns: Object.fromEntries(served.map((version) => [version.name, columnsOf(group, version)])),
      subresources: { status: hasStatus, ...defined({ scale }) },
      custom: true,
      ...(Object.keys(warnings).length === 0 ? {} : { deprecationWarnings: warnings }),
      schema: (version) => schemas.get(version) as Record<string, unknown> | undefined,
      unknownFields: (object, version) => unknownFields(object, schemas.get(version) ?? full),
    },
  };
}

/** The schema of a whole object: what the definition has, and what every object has. */
function fullSchema(version: CrdVersion): Schema {
  const own = version.schema?.openAPIV3Schema ?? {
    type: "object",
    "x-kubernetes-preserve-unknown-fields": true,
  };
  const limits = own.properties?.metadata?.properties ?? {};
  const metadata: Schema = {
    ...objectMetaSchema,
    properties: { ...objectMetaSchema.properties, ...limits },
  };
  return {
    ...own,
    type: "object",
    properties: {
      ...own.properties,
      apiVersion: { type: "string", description: "Version of this form of the object." },
      kind: { type: "string", description: "Kind of the object." },
      metadata,
    },
  };
}

function columnsOf(group: string, version: CrdVersion): Column[] {
  const name: Column = { name: "Name", type: "string", format: "name", jsonPath: ".metadata.name" };
  const age: Column = { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" };
  const own: readonly Column[] = version.additionalPrinterColumns ?? [age];
  return [name, ...own.map((column) => withReadableSize(group, column))];
}

function selectable(version: CrdVersion, object: UnstructuredObject): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const { jsonPath } of version.selectableFields ?? []) {
    const value = readPath(object, jsonPath);
    fields[jsonPath.replace(/^\./, "")] = value === undefined ? "" : String(value);
  }
  return fields;
}

function deprecation(crd: CustomResourceDefinition, version: CrdVersion): string {
  const { group, names } = crd.spec;
  return version.deprecationWarning ?? `${group}/${version.name} ${names.kind} is deprecated`;
}

/** `v2` before `v1` before `v1beta2` before `v1beta1` before `v1alpha1` before anything else. */
function compareVersions(a: string, b: string): number {
  const [left, right] = [rank(a), rank(b)];
  if (left === undefined || right === undefined) {
    return left === right ? (a < b ? -1 : a > b ? 1 : 0) : left === undefined ? 1 : -1;
  }
  for (const [i, value] of left.entries()) if (value !== right[i]) return (right[i] ?? 0) - value;
  return 0;
}

function rank(name: string): number[] | undefined {
  const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(name);
  if (match === null) return undefined;
  const stability = match[2] === undefined ? 2 : match[2] === "beta" ? 1 : 0;
  return [stability, Number(match[1]), Number(match[3] ?? 0)];
}
