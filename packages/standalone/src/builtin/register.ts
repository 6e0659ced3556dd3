import type { ResourceRegistry } from "@mooring/store";
import { defined } from "@mooring/store";
import { customResourceDefinitions } from "../crd/definition-kind.ts";
import { type BuiltinKind, column } from "../kinds/builtin-kind.ts";
import type { Column, KindInfo, MutableKindRegistry } from "../kinds/kind-info.ts";
import { createStrategy } from "../schema/create-strategy.ts";
import type { Schema } from "../schema/model.ts";
import { unknownFields } from "../schema/prune.ts";
import type { KindSchema } from "../schema/strategy.ts";
import { accessKinds } from "./kinds/access.ts";
import { appsKinds } from "./kinds/apps.ts";
import { batchKinds } from "./kinds/batch.ts";
import { persistentVolumeClaims } from "./kinds/claim.ts";
import { clusterKinds } from "./kinds/cluster.ts";
import { configKinds } from "./kinds/config.ts";
import { pods } from "./kinds/pod.ts";
import { resourceQuotas } from "./kinds/quota.ts";
import { recordKinds } from "./kinds/records.ts";
import { services } from "./kinds/service.ts";
import { storageKinds } from "./kinds/storage.ts";
import { persistentVolumes } from "./kinds/volume.ts";

/** Every kind that is there without a CustomResourceDefinition. */
export const builtinKinds: readonly BuiltinKind[] = [
  ...clusterKinds,
  pods,
  persistentVolumeClaims,
  persistentVolumes,
  ...configKinds,
  services,
  ...recordKinds,
  ...storageKinds,
  ...accessKinds,
  ...appsKinds,
  ...batchKinds,
  resourceQuotas,
  customResourceDefinitions,
];

/** Makes the built-in kinds known to the store and, when there is an API server, to that. */
export function registerBuiltins(
  registry: ResourceRegistry,
  kinds?: MutableKindRegistry,
  which: readonly BuiltinKind[] = builtinKinds,
): void {
  for (const kind of which) {
    registry.register({
      resource: kind.resource,
      hasStatus: kind.hasStatus === true,
      ...defined({ keepStatusOnCreate: kind.keepStatusOnCreate }),
      singular: kind.singular,
      shortNames: [...(kind.shortNames ?? [])],
      categories: [...(kind.categories ?? [])],
      strategy: createStrategy(schemaOf(kind)),
    });
    kinds?.set(infoOf(kind));
  }
}

function schemaOf(kind: BuiltinKind): KindSchema {
  const { group, version, kind: name } = kind.resource;
  return {
    group,
    version,
    kind: name,
    schema: kind.schema,
    custom: false,
    hasStatus: kind.hasStatus === true,
    ...defined({ rules: kind.rules }),
  };
}

const nameColumn: Column = column("Name", (object) => object.metadata.name, { format: "name" });

function infoOf(kind: BuiltinKind): KindInfo {
  const { resource, schema } = kind;
  return {
    resource,
    versions: [resource.version],
    singular: kind.singular,
    shortNames: kind.shortNames ?? [],
    categories: kind.categories ?? [],
    listKind: `${resource.kind}List`,
    columns: { [resource.version]: [kind.nameColumn ?? nameColumn, ...kind.columns] },
    subresources: { status: kind.hasStatus === true, ...defined({ scale: kind.scale }) },
    custom: false,
    schema: (version) => (version === resource.version ? plainSchema(schema) : undefined),
    unknownFields: (object) => unknownFields(object, schema),
  };
}

function plainSchema(schema: Schema): Record<string, unknown> {
  return { ...schema };
}
