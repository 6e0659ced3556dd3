import { type Condition, defineResource, type KubeObject } from "@mooring/store";
import type { Schema } from "../schema/model.ts";

/** The names of a kind, as in `apiextensions.k8s.io/v1`. */
export interface CrdNames {
  plural: string;
  singular?: string;
  shortNames?: string[];
  kind: string;
  listKind?: string;
  categories?: string[];
}

interface CrdColumn {
  name: string;
  type: "string" | "integer" | "number" | "boolean" | "date";
  format?: string;
  description?: string;
  priority?: number;
  jsonPath: string;
}

/** One version of a kind, as in `apiextensions.k8s.io/v1`. */
export interface CrdVersion {
  name: string;
  served: boolean;
  storage: boolean;
  deprecated?: boolean;
  deprecationWarning?: string;
  schema?: { openAPIV3Schema?: Schema };
  subresources?: {
    status?: Record<string, never>;
    scale?: { specReplicasPath: string; statusReplicasPath: string; labelSelectorPath?: string };
  };
  additionalPrinterColumns?: CrdColumn[];
  selectableFields?: { jsonPath: string }[];
}

/** apiextensions.k8s.io/v1 */
export interface CustomResourceDefinition extends KubeObject {
  spec: {
    group: string;
    names: CrdNames;
    scope: "Cluster" | "Namespaced";
    versions: CrdVersion[];
    conversion?: { strategy: "None" | "Webhook"; webhook?: unknown };
    preserveUnknownFields?: boolean;
  };
  status?: {
    conditions?: Condition[];
    acceptedNames?: CrdNames;
    storedVersions?: string[];
  };
}

/** Served at `/apis/apiextensions.k8s.io/v1/customresourcedefinitions`. */
export const CustomResourceDefinitions = defineResource<CustomResourceDefinition>({
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
});

/** Keeps a definition until its objects are gone. */
export const CLEANUP_FINALIZER = "customresourcecleanup.apiextensions.k8s.io";
