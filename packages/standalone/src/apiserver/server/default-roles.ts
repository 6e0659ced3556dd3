import {
  defined,
  isAlreadyExists,
  isNotFound,
  type JsonStore,
  type UnstructuredObject,
} from "@mooring/store";
import { uncovered } from "../auth/covers.ts";
import { ClusterRoles, RBAC_GROUP } from "../auth/rbac.ts";
import type { PolicyRule } from "../auth/rules.ts";
import { ADMIN, EDIT, VIEW } from "./role-rules.ts";

const AUTO_UPDATE = "rbac.authorization.kubernetes.io/autoupdate";
const AGGREGATE = `${RBAC_GROUP}/aggregate-to-`;

interface DefaultRole {
  name: string;
  rules?: readonly PolicyRule[];
  /** Is made of the roles with the label `aggregate-to-<name>`. */
  aggregates?: true;
  /** Is part of that role. */
  partOf?: string;
}

/** The roles that charts and users expect to find. */
const ROLES: readonly DefaultRole[] = [
  {
    name: "cluster-admin",
    rules: [
      { verbs: ["*"], apiGroups: ["*"], resources: ["*"] },
      { verbs: ["*"], nonResourceURLs: ["*"] },
    ],
  },
  { name: "system:aggregate-to-view", partOf: "view", rules: VIEW },
  { name: "system:aggregate-to-edit", partOf: "edit", rules: EDIT },
  { name: "system:aggregate-to-admin", partOf: "admin", rules: ADMIN },
  { name: "view", aggregates: true, partOf: "edit" },
  { name: "edit", aggregates: true, partOf: "admin" },
  { name: "admin", aggregates: true },
];

/** Creates the roles that are missing, and gives those that are there what an older version has not given them. */
export async function ensureDefaultRoles(store: JsonStore): Promise<void> {
  // Servers for tests may not know the kind.
  if (store.registry.find(ClusterRoles) === undefined) return;
  for (const role of ROLES) await ensure(store, asObject(role));
}

function asObject({ name, rules = [], aggregates, partOf }: DefaultRole): UnstructuredObject {
  const labels = {
    "kubernetes.io/bootstrapping": "rbac-defaults",
    ...(partOf === undefined ? {} : { [AGGREGATE + partOf]: "true" }),
  };
  const matchLabels = { [AGGREGATE + name]: "true" };
  return {
    apiVersion: `${RBAC_GROUP}/v1`,
    kind: "ClusterRole",
    metadata: { name, labels, annotations: { [AUTO_UPDATE]: "true" } },
    ...(aggregates === undefined ? {} : { aggregationRule: { clusterRoleSelectors: [{ matchLabels }] } }),
    rules,
  };
}

async function ensure(store: JsonStore, wanted: UnstructuredObject): Promise<void> {
  const { name } = wanted.metadata;
  try {
    const present = await store.get(ClusterRoles, { name });
    const next = updated(present, wanted);
    if (next !== undefined) await store.update(ClusterRoles, next, { fieldManager: "mooring" });
  } catch (error) {
    if (!isNotFound(error)) throw error;
    await store.create(ClusterRoles, wanted, { fieldManager: "mooring" }).catch((failure: unknown) => {
      if (!isAlreadyExists(failure)) throw failure;
    });
  }
}

/** What an operator has added stays; an operator who wants none of this sets the annotation. */
function updated(present: UnstructuredObject, wanted: UnstructuredObject): UnstructuredObject | undefined {
  const { metadata } = present;
  if (metadata.annotations?.[AUTO_UPDATE] === "false") return undefined;
  const labels = { ...metadata.labels, ...wanted.metadata.labels };
  const [rules, due] = [rulesOf(present), rulesOf(wanted)];
  const missing = uncovered(rules, due, { most: 1_000, comparisons: Number.POSITIVE_INFINITY });
  const same =
    missing.length === 0 &&
    (wanted.aggregationRule === undefined || present.aggregationRule !== undefined) &&
    Object.keys(labels).length === Object.keys(metadata.labels ?? {}).length;
  if (same) return undefined;
  return {
    ...present,
    metadata: { ...metadata, labels, annotations: { ...metadata.annotations, [AUTO_UPDATE]: "true" } },
    ...defined({ aggregationRule: wanted.aggregationRule }),
    rules: [...rules, ...missing],
  };
}

function rulesOf({ rules }: UnstructuredObject): PolicyRule[] {
  return Array.isArray(rules) ? (rules as PolicyRule[]) : [];
}
