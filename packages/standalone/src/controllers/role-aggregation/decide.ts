import { isDeepStrictEqual } from "node:util";
import {
  DONE,
  type LabelSelector,
  labelRequirements,
  matchesLabels,
  type UnstructuredObject,
} from "@mooring/store";

/** Everything that the rules of a cluster role depend on. */
export interface RoleView {
  role: UnstructuredObject;
  /** All cluster roles, this one among them. */
  all: readonly UnstructuredObject[];
}

/** Writes the rules that a cluster role has by aggregation. */
export type RoleStep = { do: "set-rules"; rules: readonly unknown[] };

/** An aggregated role has the rules of all roles that its selectors choose, in the order of their names. Pure. */
export function decide({ role, all }: RoleView): RoleStep | typeof DONE {
  const selectors = selectorsOf(role);
  if (selectors === undefined) return DONE;
  const wanted = selectors.map(labelRequirements);
  const chosen = all
    .filter(({ metadata }) => metadata.name !== role.metadata.name)
    .filter(({ metadata }) => wanted.some((each) => matchesLabels(each, metadata.labels ?? {})))
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  const rules: unknown[] = [];
  const seen = new Set<string>();
  for (const rule of chosen.flatMap(rulesOf)) {
    const text = JSON.stringify(rule);
    if (!seen.has(text)) rules.push(rule);
    seen.add(text);
  }
  return isDeepStrictEqual(rules, rulesOf(role)) ? DONE : { do: "set-rules", rules };
}

function selectorsOf({ aggregationRule }: UnstructuredObject): LabelSelector[] | undefined {
  if (typeof aggregationRule !== "object" || aggregationRule === null) return undefined;
  const { clusterRoleSelectors } = aggregationRule as { clusterRoleSelectors?: LabelSelector[] };
  return clusterRoleSelectors;
}

function rulesOf({ rules }: UnstructuredObject): readonly unknown[] {
  return Array.isArray(rules) ? rules : [];
}
