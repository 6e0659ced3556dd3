import type { KubeObject } from "../object/meta.ts";

interface Requirement {
  key: string;
  operator: string;
  values?: string[];
}

interface NodeSelectorTerm {
  matchExpressions?: Requirement[];
  matchFields?: Requirement[];
}

/** core/v1 NodeSelector: one of the terms must match, in a term every requirement. */
interface NodeSelector {
  nodeSelectorTerms: NodeSelectorTerm[];
}

type NodeLike = Pick<KubeObject, "metadata">;

/** Absent selects every node; a selector without terms, or a term without requirements, none. */
export function selectsNode(selector: NodeSelector | undefined, node: NodeLike): boolean {
  if (selector === undefined) return true;
  return selector.nodeSelectorTerms.some((term) => termMatches(term, node));
}

function termMatches(term: NodeSelectorTerm, node: NodeLike): boolean {
  const expressions = term.matchExpressions ?? [];
  const fields = term.matchFields ?? [];
  if (expressions.length + fields.length === 0) return false;
  const labels = node.metadata.labels ?? {};
  return (
    expressions.every((requirement) => matches(requirement, own(labels, requirement.key))) &&
    fields.every((requirement) =>
      matches(requirement, requirement.key === "metadata.name" ? node.metadata.name : undefined),
    )
  );
}

/** Every object inherits a `constructor`, and no node has a label of that name by it. */
function own(labels: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}

type Operator = (value: string | undefined, values: readonly string[]) => boolean;

const OPERATORS: Readonly<Record<string, Operator>> = {
  In: (value, values) => value !== undefined && values.includes(value),
  NotIn: (value, values) => value === undefined || !values.includes(value),
  Exists: (value) => value !== undefined,
  DoesNotExist: (value) => value === undefined,
  Gt: (value, [limit]) => isInteger(value) && isInteger(limit) && BigInt(value) > BigInt(limit),
  Lt: (value, [limit]) => isInteger(value) && isInteger(limit) && BigInt(value) < BigInt(limit),
};

function matches({ operator, values }: Requirement, value: string | undefined): boolean {
  return (Object.hasOwn(OPERATORS, operator) && OPERATORS[operator]?.(value, values ?? [])) === true;
}

function isInteger(text: string | undefined): text is string {
  return text !== undefined && /^[+-]?\d+$/.test(text);
}

/** StorageClass.allowedTopologies: terms of labels, one of which must match. */
interface TopologyTerm {
  matchLabelExpressions?: { key: string; values: string[] }[];
}

/** True when one of the terms allows the node; no terms allow all. */
export function allowsTopology(terms: readonly TopologyTerm[] | undefined, node: NodeLike): boolean {
  if (terms === undefined || terms.length === 0) return true;
  const labels = node.metadata.labels ?? {};
  return terms.some((term) =>
    (term.matchLabelExpressions ?? []).every(({ key, values }) => values.includes(own(labels, key) ?? "")),
  );
}
