import { Optional } from "@marcbachmann/cel-js";
import { BudgetSpent } from "../budget.ts";
import { duplicate, type FieldError, forbidden, invalid, required } from "../field-error.ts";
import { childSchema, isObject, jsonEqual, type Schema, type ValidationRule } from "../model.ts";
import { fieldPath } from "../validate.ts";
import { correlate } from "./correlate.ts";
import { compile, type Program } from "./environment.ts";
import { toCel } from "./values.ts";

interface CompiledRule {
  rule: ValidationRule;
  program: Program;
  message?: Program;
  /** Mentions `oldSelf`: runs on changes only, unless `optionalOldSelf`. */
  transition: boolean;
}

const compiled = new WeakMap<Schema, readonly CompiledRule[]>();
const anyBelow = new WeakMap<Schema, boolean>();

/** Whether a rule is a transition rule, which is checked on updates only: it reads `oldSelf` outside of its string literals. */
export function usesOldSelf(expression: string): boolean {
  return /\boldSelf\b/.test(expression.replace(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g, ""));
}

function rulesOf(schema: Schema): readonly CompiledRule[] {
  let rules = compiled.get(schema);
  if (rules === undefined) {
    rules = (schema["x-kubernetes-validations"] ?? []).map((rule) => ({
      rule,
      program: compile(rule.rule),
      ...(rule.messageExpression === undefined ? {} : { message: compile(rule.messageExpression) }),
      transition: usesOldSelf(rule.rule),
    }));
    compiled.set(schema, rules);
  }
  return rules;
}

function hasRules(schema: Schema): boolean {
  const known = anyBelow.get(schema);
  if (known !== undefined) return known;
  anyBelow.set(schema, false);
  const { properties, items, additionalProperties } = schema;
  const result =
    (schema["x-kubernetes-validations"]?.length ?? 0) > 0 ||
    Object.values(properties ?? {}).some(hasRules) ||
    (items !== undefined && hasRules(items)) ||
    (typeof additionalProperties === "object" && hasRules(additionalProperties));
  anyBelow.set(schema, result);
  return result;
}

/** What the schema's CEL rules say about `value`. `old` is the value it replaces; undefined for new ones. */
export function checkRules(value: unknown, old: unknown, schema: Schema): FieldError[] {
  const errors: FieldError[] = [];
  try {
    visit({ value, old }, schema, "", errors);
  } catch (error) {
    if (!(error instanceof BudgetSpent)) throw error;
    const detail =
      "validation failed due to running out of cost budget, no further validation rules will be run";
    errors.push(invalid("<nil>", schema.type ?? "object", detail));
  }
  return errors;
}

function visit(
  { value, old }: { value: unknown; old: unknown },
  schema: Schema,
  path: string,
  errors: FieldError[],
): void {
  if (value === null || value === undefined || !hasRules(schema)) return;
  runRules({ value, old }, schema, path, errors);
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items === undefined) return;
    for (const [i, item] of value.entries())
      visit({ value: item, old: correlate(old, item, schema) }, items, `${path}[${i}]`, errors);
  } else if (isObject(value)) {
    for (const [field, item] of Object.entries(value)) {
      const child = childSchema(schema, field);
      if (child === undefined) continue;
      visit(
        { value: item, old: isObject(old) ? old[field] : undefined },
        child,
        fieldPath(path, schema, field),
        errors,
      );
    }
  }
}

function runRules(
  { value, old }: { value: unknown; old: unknown },
  schema: Schema,
  path: string,
  errors: FieldError[],
): void {
  const rules = rulesOf(schema);
  if (rules.length === 0) return;
  // A change elsewhere is not refused for what was already stored here.
  const unchanged = old !== undefined && jsonEqual(value, old);
  const self = toCel(value, schema);
  let oldSelf: unknown;
  for (const compiledRule of rules) {
    const { rule, transition } = compiledRule;
    if (transition ? old === undefined && rule.optionalOldSelf !== true : unchanged) continue;
    if (transition && old !== undefined) oldSelf ??= toCel(old, schema);
    const given =
      rule.optionalOldSelf === true ? (old === undefined ? Optional.none() : Optional.of(oldSelf)) : oldSelf;
    const failure = run(compiledRule, { self, ...(transition ? { oldSelf: given } : {}) });
    if (failure !== undefined) errors.push(toError(rule, failure, path, schema));
  }
}

/** The text of the failure, or undefined when the rule is met. */
function run(
  { rule, program, message }: CompiledRule,
  variables: { self: unknown; oldSelf?: unknown },
): string | undefined {
  const fallback = rule.message ?? `failed rule: ${rule.rule.trim().replace(/\s*\n\s*/g, " ")}`;
  try {
    if (program.evaluate(variables) === true) return undefined;
  } catch (error) {
    if (error instanceof BudgetSpent) throw error;
    return `${firstLine(error)} evaluating rule: ${rule.message ?? rule.rule.trim()}`;
  }
  try {
    const text = message?.evaluate(variables);
    if (typeof text === "string" && text.trim() !== "" && !text.includes("\n")) return text;
  } catch (error) {
    if (error instanceof BudgetSpent) throw error;
    // A message that cannot be made is no reason to hide the failure.
  }
  return fallback;
}

function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const line = text.split("\n")[0] ?? "";
  return line.replace(/^No such key: /, "no such key: ");
}

function toError(rule: ValidationRule, text: string, path: string, schema: Schema): FieldError {
  const field = joinRelative(path, rule.fieldPath) || "<nil>";
  switch (rule.reason) {
    case "FieldValueRequired":
      return required(field, text);
    case "FieldValueForbidden":
      return forbidden(field, text);
    case "FieldValueDuplicate":
      return duplicate(field, schema.type ?? "object");
    default:
      return invalid(field, schema.type ?? "object", text);
  }
}

/** `.spec.size` or `.labels['a']`, relative to the value that the rule is about. */
function joinRelative(path: string, relative: string | undefined): string {
  if (relative === undefined || relative === "") return path;
  const plain = relative.replace(/\['([^']*)'\]/g, "[$1]");
  return path === "" ? plain.replace(/^\./, "") : `${path}${plain}`;
}

/** The whole object as rules see it: of its metadata only the names. */
export function ruleSchema(schema: Schema): Schema {
  const text: Schema = { type: "string" };
  const metadata: Schema = { type: "object", properties: { name: text, generateName: text } };
  return { ...schema, properties: { ...schema.properties, apiVersion: text, kind: text, metadata } };
}
