import { digList, digObject, digStrings, digText } from "../../kinds/builtin-kind.ts";
import { duplicate, type FieldError, forbidden, invalid, required } from "../../schema/field-error.ts";
import { nameProblems, qualifiedNameProblems } from "../../schema/formats.ts";
import { isObject, jsonEqual } from "../../schema/model.ts";
import { labelErrors } from "../../schema/object-meta.ts";

type Fields = Record<string, unknown>;

const labelNameErrors = (name: string, path: string): FieldError[] =>
  qualifiedNameProblems(name).map((problem) => invalid(path, name, problem));

/** How many values an operator compares with; absent: it is none of the selector's. */
type Operators = Readonly<Record<string, "some" | "one" | "none">>;

const OF_LABELS: Operators = { In: "some", NotIn: "some", Exists: "none", DoesNotExist: "none" };
const OF_NODES: Operators = { ...OF_LABELS, Gt: "one", Lt: "one" };
const OF_FIELDS: Operators = { In: "one", NotIn: "one" };

function operatorErrors(requirement: Fields, path: string, operators: Operators): FieldError[] {
  const operator = digText(requirement, "operator");
  const count = digStrings(requirement, "values").length;
  switch (Object.hasOwn(operators, operator) ? operators[operator] : undefined) {
    case "some":
      return count > 0
        ? []
        : [required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'")];
    case "one":
      return count === 1
        ? []
        : [required(`${path}.values`, `must have one value for \`operator\` ${operator}`)];
    case "none":
      return count === 0
        ? []
        : [forbidden(`${path}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")];
    default:
      return [invalid(`${path}.operator`, operator, "not a valid selector operator")];
  }
}

/** What is wrong with a meta/v1 LabelSelector. */
export function labelSelectorErrors(selector: unknown, path: string): FieldError[] {
  return [
    ...labelErrors(digObject(selector, "matchLabels") as Record<string, string>, `${path}.matchLabels`),
    ...digList(selector, "matchExpressions").flatMap((requirement, i) => {
      const at = `${path}.matchExpressions[${i}]`;
      return [
        ...operatorErrors(requirement, at, OF_LABELS),
        ...labelNameErrors(digText(requirement, "key"), `${at}.key`),
      ];
    }),
  ];
}

/** What is wrong with a core/v1 NodeSelector. */
export function nodeSelectorErrors(selector: unknown, path: string): FieldError[] {
  const terms = digList(selector, "nodeSelectorTerms");
  const at = `${path}.nodeSelectorTerms`;
  if (terms.length === 0) return [required(at, "must have at least one node selector term")];
  return terms.flatMap((term, i) => [
    ...digList(term, "matchExpressions").flatMap((requirement, k) =>
      nodeLabelErrors(requirement, `${at}[${i}].matchExpressions[${k}]`),
    ),
    ...digList(term, "matchFields").flatMap((requirement, k) =>
      nodeFieldErrors(requirement, `${at}[${i}].matchFields[${k}]`),
    ),
  ]);
}

function nodeLabelErrors(requirement: Fields, path: string): FieldError[] {
  const values = digStrings(requirement, "values");
  return [
    ...operatorErrors(requirement, path, OF_NODES),
    ...labelNameErrors(digText(requirement, "key"), `${path}.key`),
    ...values.flatMap((value, i) =>
      nameProblems("labelValue", value).map((problem) => invalid(`${path}.values[${i}]`, value, problem)),
    ),
  ];
}

function nodeFieldErrors(requirement: Fields, path: string): FieldError[] {
  const key = digText(requirement, "key");
  const errors = operatorErrors(requirement, path, OF_FIELDS);
  return key === "metadata.name"
    ? errors
    : [...errors, invalid(`${path}.key`, key, "not a valid field selector key")];
}

/** What is wrong with a StorageClass's `allowedTopologies`. */
export function topologyErrors(terms: readonly Fields[], path: string): FieldError[] {
  const seen: unknown[] = [];
  return terms.flatMap((term, i) => {
    const at = `${path}[${i}].matchLabelExpressions`;
    const expressions = digList(term, "matchLabelExpressions");
    const values = Object.fromEntries(
      expressions.map((each) => [digText(each, "key"), digStrings(each, "values").sort()]),
    );
    // A term that says nothing is a repetition of what holds without it.
    const isRepeated =
      expressions.length === 0 || seen.some((one) => isObject(one) && jsonEqual(one, values));
    seen.push(values);
    return [
      ...expressions.flatMap((each, k) => expressionErrors(each, `${at}[${k}]`)),
      ...expressions.flatMap(({ key }, k) =>
        expressions.findIndex((each) => each.key === key) < k ? [duplicate(`${at}[${k}].key`, key)] : [],
      ),
      ...(isRepeated ? [duplicate(at, "")] : []),
    ];
  });
}

function expressionErrors(expression: Fields, path: string): FieldError[] {
  const values = digStrings(expression, "values");
  return [
    ...(values.length === 0 ? [required(`${path}.values`)] : []),
    ...values.flatMap((value, i) =>
      values.indexOf(value) < i ? [duplicate(`${path}.values[${i}]`, value)] : [],
    ),
    ...labelNameErrors(digText(expression, "key"), `${path}.key`),
  ];
}
