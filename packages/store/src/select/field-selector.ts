import { badRequest } from "../object/errors.ts";
import { emptyValue } from "./parse-labels.ts";

/** One comparison of a field selector. */
export interface FieldRequirement {
  field: string;
  equal: boolean;
  value: string;
}

/** A value may have these three characters only behind a backslash, and a backslash before nothing else, as in Kubernetes. */
const VALUE = /^(?:[^\\,=]|\\[\\,=])*$/s;

/**
 * Parses `metadata.name=x,spec.nodeName!=y`; backslash escapes comma, equals sign and itself. Throws BadRequest, also for `a==`
 * without a value (decision 0114).
 */
export function parseFieldSelector(selector: string | undefined): FieldRequirement[] {
  if (selector === undefined || selector === "") return [];
  const terms = selector.match(/(?:\\.|[^,])+/gs) ?? [];
  return terms.map((term) => {
    const match = /^((?:[^=!\\]|\\.)+?)(==|!=|=)(.*)$/s.exec(term);
    if (match === null) throw badRequest(`invalid selector: '${selector}'; can't understand '${term}'`);
    const [, field = "", operator, value = ""] = match;
    if (operator === "==" && value === "")
      throw badRequest(`invalid selector: '${selector}'; '${term}' has no value; ${emptyValue(field)}`);
    if (!VALUE.test(value)) throw badRequest(`invalid selector: '${selector}'; can't understand '${term}'`);
    return { field, equal: operator !== "!=", value: value.replace(/\\([\\,=])/g, "$1") };
  });
}

/** Throws BadRequest for a field that the kind cannot select by. */
export function matchesFields(
  requirements: readonly FieldRequirement[],
  fields: Readonly<Record<string, string>>,
): boolean {
  const unknown = requirements.find(({ field }) => !Object.hasOwn(fields, field));
  if (unknown !== undefined) throw badRequest(`field label not supported: ${unknown.field}`);
  return requirements.every(({ field, equal, value }) => (fields[field] === value) === equal);
}
