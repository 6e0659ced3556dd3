import { badRequest } from "../object/errors.ts";
import { isLabelKey, isLabelValue, LabelParser } from "./parse-labels.ts";
import type { LabelRequirement } from "./requirement.ts";

/** The structured form that objects carry (`spec.selector`), meta/v1 LabelSelector. */
export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
}

type Labels = Readonly<Record<string, string>> | undefined;

/** Parses the API's string form: `app=db,tier in (a,b),!old,size>3`. Throws BadRequest. */
export function parseLabelSelector(selector: string | undefined): LabelRequirement[] {
  return new LabelParser(selector ?? "").parse();
}

/** An API server refuses them, too: no object has such a label, so NotIn and DoesNotExist would select everything, by a slip of the pen. */
function requireLabel(key: string, values: readonly string[]): void {
  if (!isLabelKey(key)) throw badRequest(`${JSON.stringify(key)} in a label selector is not a label key`);
  const wrong = values.find((value) => !isLabelValue(value));
  if (wrong !== undefined)
    throw badRequest(`${JSON.stringify(wrong)} in a label selector is not a value of label ${key}`);
}

/**
 * The structured form as requirements. An empty selector selects everything; throws BadRequest. A custom resource has it
 * as it was written: no server has checked its keys and values.
 */
export function labelRequirements(selector: LabelSelector): LabelRequirement[] {
  const equalities = Object.entries(selector.matchLabels ?? {}).map(
    ([key, value]): LabelRequirement => ({ key, operator: "In", values: [value] }),
  );
  const expressions = (selector.matchExpressions ?? []).map(({ key, operator, values }): LabelRequirement => {
    const needsValues = operator === "In" || operator === "NotIn";
    if (!needsValues && operator !== "Exists" && operator !== "DoesNotExist") {
      throw badRequest(`"${operator}" is not a valid label selector operator`);
    }
    if (needsValues !== (values?.length ?? 0) > 0) {
      throw badRequest(`label selector operator "${operator}" ${needsValues ? "needs" : "takes no"} values`);
    }
    return { key, operator, values: values ?? [] };
  });
  const requirements = [...equalities, ...expressions];
  for (const { key, values } of requirements) requireLabel(key, values);
  return requirements;
}

/** The string form of requirements: the reverse of {@link parseLabelSelector}. */
export function formatLabelSelector(requirements: readonly LabelRequirement[]): string {
  return requirements
    .map(({ key, operator, values }) => {
      if (operator === "Exists") return key;
      if (operator === "DoesNotExist") return `!${key}`;
      if (operator === "Gt" || operator === "Lt")
        return `${key}${operator === "Gt" ? ">" : "<"}${values[0] ?? ""}`;
      return `${key} ${operator === "In" ? "in" : "notin"} (${values.join(",")})`;
    })
    .join(",");
}

/** NotIn and DoesNotExist also match objects without the label. */
export function matchesLabels(requirements: readonly LabelRequirement[], labels: Labels): boolean {
  return requirements.every(({ key, operator, values }) => {
    const value = labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined;
    if (operator === "Exists") return value !== undefined;
    if (operator === "DoesNotExist") return value === undefined;
    if (operator === "Gt" || operator === "Lt") return compares(operator, value, values[0] ?? "");
    const isOneOf = value !== undefined && values.includes(value);
    return operator === "In" ? isOneOf : !isOneOf;
  });
}

/** A label that is no whole number is neither more nor less. */
function compares(operator: "Gt" | "Lt", value: string | undefined, limit: string): boolean {
  if (value === undefined || !/^[+-]?\d+$/.test(value)) return false;
  return operator === "Gt" ? BigInt(value) > BigInt(limit) : BigInt(value) < BigInt(limit);
}
