import { undeclaredField } from "../schema/cel/declared-fields.ts";
import { compile } from "../schema/cel/environment.ts";
import { usesOldSelf } from "../schema/cel/rules.ts";
import { type FieldError, invalid, notSupported, required } from "../schema/field-error.ts";
import type { Schema, ValidationRule } from "../schema/model.ts";

const REASONS = ["FieldValueRequired", "FieldValueInvalid", "FieldValueForbidden", "FieldValueDuplicate"];

/**
 * What is wrong with the CEL rules of one schema. `detached` is the path of the list whose elements cannot be matched
 * apart from one version of an object to the next, when the schema is below one.
 */
export function ruleErrors(schema: Schema, path: string, errors: FieldError[], detached?: string): void {
  for (const [i, rule] of (schema["x-kubernetes-validations"] ?? []).entries()) {
    const at = `${path}.x-kubernetes-validations[${i}]`;
    if (rule.rule.trim() === "") errors.push(required(`${at}.rule`, "rule is not specified"));
    else
      errors.push(
        ...expressionErrors(rule, schema, at),
        ...oldSelfErrors(rule, at, detached),
        ...textErrors(rule, at),
      );
  }
}

function expressionErrors(rule: ValidationRule, schema: Schema, at: string): FieldError[] {
  const errors: FieldError[] = [];
  const problem = compileProblem(rule.rule, "bool") ?? undeclared(rule.rule, schema);
  if (problem !== undefined) errors.push(invalid(`${at}.rule`, rule.rule, problem));
  if (rule.messageExpression !== undefined) {
    const wrong = compileProblem(rule.messageExpression, "string");
    if (wrong !== undefined) errors.push(invalid(`${at}.messageExpression`, rule.messageExpression, wrong));
  }
  return errors;
}

function compileProblem(text: string, type: "bool" | "string"): string | undefined {
  try {
    const program = compile(text);
    return program.type === type || program.type === "dyn" ? undefined : `must evaluate to a ${type}`;
  } catch (error) {
    return `compilation failed: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function undeclared(rule: string, schema: Schema): string | undefined {
  const problem = undeclaredField(rule, schema);
  return problem === undefined ? undefined : `compilation failed: ${problem}`;
}

function oldSelfErrors(rule: ValidationRule, at: string, detached: string | undefined): FieldError[] {
  const transition = usesOldSelf(rule.rule);
  if (transition && detached !== undefined) {
    const detail = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${detached}`;
    return [invalid(`${at}.rule`, rule.rule, detail)];
  }
  if (transition || rule.optionalOldSelf === undefined) return [];
  return [
    invalid(`${at}.optionalOldSelf`, rule.optionalOldSelf, "may not be set if oldSelf is not used in rule"),
  ];
}

function textErrors({ reason, message }: ValidationRule, at: string): FieldError[] {
  const errors: FieldError[] = [];
  if (reason !== undefined && !REASONS.includes(reason))
    errors.push(notSupported(`${at}.reason`, reason, REASONS));
  if (message?.includes("\n") === true) {
    errors.push(invalid(`${at}.message`, message, "message must not contain line breaks"));
  }
  return errors;
}
