import { badRequest } from "../object/errors.ts";

/** One condition on labels; all of a selector's conditions must hold. */
export interface LabelRequirement {
  key: string;
  operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
  values: string[];
}

/** The structured form that objects carry (`spec.selector`), meta/v1 LabelSelector. */
export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
}

type Labels = Readonly<Record<string, string>> | undefined;

const KEY = "[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?(?:/[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?";
const VALUE = "[A-Za-z0-9._-]*";
const SET = new RegExp(`^(${KEY})\\s+(in|notin)\\s*\\(([^()]*)\\)$`);
const EQUAL = new RegExp(`^(${KEY})\\s*(==|=|!=)\\s*(${VALUE})$`);
const EXISTS = new RegExp(`^(!?)\\s*(${KEY})$`);

/** Parses the API's string form: `app=db,tier in (a,b),!old`. Throws BadRequest. */
export function parseLabelSelector(selector: string | undefined): LabelRequirement[] {
  if (selector === undefined || selector.trim() === "") return [];
  return splitTopLevel(selector).map((part) => parseRequirement(part.trim(), selector));
}

function parseRequirement(part: string, selector: string): LabelRequirement {
  const set = SET.exec(part);
  if (set !== null) {
    const values = (set[3] ?? "").split(",").map((value) => value.trim());
    if (values.every((value) => new RegExp(`^${VALUE}$`).test(value))) {
      return { key: set[1] ?? "", operator: set[2] === "in" ? "In" : "NotIn", values };
    }
  }
  const equal = EQUAL.exec(part);
  if (equal !== null) {
    return { key: equal[1] ?? "", operator: equal[2] === "!=" ? "NotIn" : "In", values: [equal[3] ?? ""] };
  }
  const exists = EXISTS.exec(part);
  if (exists !== null) {
    return { key: exists[2] ?? "", operator: exists[1] === "!" ? "DoesNotExist" : "Exists", values: [] };
  }
  throw badRequest(`unable to parse requirement "${part}" of label selector "${selector}"`);
}

/** Splits at the commas that are not between parentheses. */
function splitTopLevel(selector: string): string[] {
  return selector.split(/,(?![^(]*\))/);
}

/** The structured form as requirements. An empty selector selects everything; throws BadRequest. */
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
  return [...equalities, ...expressions];
}

/** The string form of requirements: the reverse of {@link parseLabelSelector}. */
export function formatLabelSelector(requirements: readonly LabelRequirement[]): string {
  return requirements
    .map(({ key, operator, values }) => {
      if (operator === "Exists") return key;
      if (operator === "DoesNotExist") return `!${key}`;
      return `${key} ${operator === "In" ? "in" : "notin"} (${values.join(",")})`;
    })
    .join(",");
}

/** NotIn and DoesNotExist also hold for objects without the label. */
export function matchesLabels(requirements: readonly LabelRequirement[], labels: Labels): boolean {
  return requirements.every(({ key, operator, values }) => {
    const value = labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined;
    if (operator === "Exists") return value !== undefined;
    if (operator === "DoesNotExist") return value === undefined;
    const isOneOf = value !== undefined && values.includes(value);
    return operator === "In" ? isOneOf : !isOneOf;
  });
}
