import type { DeleteOptions, StatusError, StrategyContext, UnstructuredObject } from "@mooring/store";
import { BudgetSpent, withinBudget } from "./budget.ts";
import { checkRules, ruleSchema } from "./cel/rules.ts";
import { decodeBuiltin } from "./decode.ts";
import { applyDefaults, dropForbiddenNulls, dropNulls } from "./default.ts";
import { type FieldError, invalid, invalidObject } from "./field-error.ts";
import type { Schema } from "./model.ts";
import { type NameKind, objectMetaSchema, validateMeta, validateMetaUpdate } from "./object-meta.ts";
import { prune } from "./prune.ts";
import { validateSchema } from "./validate.ts";

/** Behaviour of one kind beyond its schema. Hooks work in place; all are pure and synchronous. */
export interface KindRules {
  /** The form of a name; default: a DNS subdomain. */
  name?: NameKind;
  /** Clears what a client may not set, before defaults are filled in. */
  prepareCreate?(object: UnstructuredObject): void;
  prepareUpdate?(next: UnstructuredObject, old: UnstructuredObject, subresource: string): void;
  /** Defaults that depend on other fields; runs after the schema's own. */
  defaults?(object: UnstructuredObject): void;
  validate?(object: UnstructuredObject): FieldError[];
  /** Runs after a successful {@link KindRules.validate}; returns what may not change. */
  validateUpdate?(next: UnstructuredObject, old: UnstructuredObject, subresource: string): FieldError[];
  /** Refusals that depend on other objects, after everything else was found right. */
  admitUpdate?(next: UnstructuredObject, old: UnstructuredObject, lookup: Lookup): StatusError | undefined;
  /**
   * The same where it depends on many objects, also of a new one (`old` is undefined then). Throws the reason to refuse it.
   */
  admit?(next: UnstructuredObject, old: UnstructuredObject | undefined, collect: Collect): void;
  selectableFields?(object: UnstructuredObject): Record<string, string>;
  gracefulDelete?(object: UnstructuredObject, options: DeleteOptions): number;
}

/** How a rule reads another object that its kind depends on, in the state that is about to be written. */
export type Lookup = NonNullable<StrategyContext["lookup"]>;
export type Collect = NonNullable<StrategyContext["collect"]>;

/** One kind in its storage version. */
export interface KindSchema {
  group: string;
  version: string;
  kind: string;
  /** Of the whole object, `metadata` included. */
  schema: Schema;
  /** Kinds of CRDs validate types and keep nulls where the schema allows them; built-in ones decode into fixed types. */
  custom: boolean;
  /** There is a status subresource. */
  hasStatus: boolean;
  rules?: KindRules;
}

/** The object as an API server would store it; throws Invalid (422) or BadRequest (400). */
export function admitCreate(
  kind: KindSchema,
  object: UnstructuredObject,
  { collect }: Pick<StrategyContext, "collect"> = {},
): UnstructuredObject {
  const made = bounded(kind, object, () => admitted(kind, object));
  if (collect !== undefined) kind.rules?.admit?.(made, undefined, collect);
  return made;
}

function admitted(kind: KindSchema, object: UnstructuredObject): UnstructuredObject {
  shape(kind, object, () => kind.rules?.prepareCreate?.(object));
  const errors = [...metaProblems(kind, object), ...problems(kind, object)];
  if (errors.length > 0) throw invalidObject(kind, nameOf(object), errors);
  return object;
}

/**
 * The object as it is stored after a change: what the subresource may not change is as before, defaults are filled in.
 * Throws Invalid with every field that breaks a rule, or TooLarge for rules that cost too much to check.
 */
export function admitUpdate(
  kind: KindSchema,
  next: UnstructuredObject,
  old: UnstructuredObject,
  context: Pick<StrategyContext, "subresource" | "lookup" | "collect"> = {},
): UnstructuredObject {
  const made = bounded(kind, next, () => changed(kind, next, old, context));
  if (context.collect !== undefined) kind.rules?.admit?.(made, old, context.collect);
  return made;
}

/** What costs too much to check is refused: rules and patterns run on what a client sent. */
function bounded<T>(kind: KindSchema, object: UnstructuredObject, work: () => T): T {
  try {
    return withinBudget(work);
  } catch (error) {
    if (!(error instanceof BudgetSpent)) throw error;
    throw invalidObject(kind, nameOf(object), [invalid("<nil>", kind.kind, error.message)]);
  }
}

function changed(
  kind: KindSchema,
  next: UnstructuredObject,
  old: UnstructuredObject,
  context: Pick<StrategyContext, "subresource" | "lookup">,
): UnstructuredObject {
  const { subresource = "", lookup } = context;
  shape(kind, next, () => kind.rules?.prepareUpdate?.(next, old, subresource));
  const errors = [
    ...metaProblems(kind, next),
    ...validateMetaUpdate(next, old),
    ...ratcheted(kind, problems(kind, next, old, subresource), old),
  ];
  if (errors.length === 0) errors.push(...(kind.rules?.validateUpdate?.(next, old, subresource) ?? []));
  if (errors.length > 0) throw invalidObject(kind, nameOf(next), errors);
  const refusal = lookup === undefined ? undefined : kind.rules?.admitUpdate?.(next, old, lookup);
  if (refusal !== undefined) throw refusal;
  return next;
}

function metaProblems(kind: KindSchema, object: UnstructuredObject): FieldError[] {
  const extension = kind.custom || kind.group === "apiextensions.k8s.io";
  return validateMeta(object, kind.rules?.name ?? "subdomain", extension);
}

function nameOf(object: UnstructuredObject): string {
  return object.metadata.name ?? object.metadata.generateName ?? "";
}

/** What a client applies, as far as it can be brought into form before it is part of an object. */
export function decodeApplied(kind: KindSchema, object: UnstructuredObject): UnstructuredObject {
  dropNulls(object.metadata);
  decodeBuiltin({ metadata: object.metadata }, META_ONLY, kind);
  if (kind.custom) dropForbiddenNulls(object, kind.schema);
  else {
    dropNulls(object);
    decodeBuiltin(object, kind.schema, kind);
  }
  return object;
}

function shape(kind: KindSchema, object: UnstructuredObject, prepare: () => void): void {
  dropNulls(object.metadata);
  prune(object.metadata, objectMetaSchema);
  decodeBuiltin({ metadata: object.metadata }, META_ONLY, kind);
  if (kind.custom) dropForbiddenNulls(object, kind.schema);
  else dropNulls(object);
  prune(object, kind.schema);
  if (!kind.custom) decodeBuiltin(object, kind.schema, kind);
  prepare();
  applyDefaults(object, kind.schema);
  kind.rules?.defaults?.(object);
}
const META_ONLY: Schema = { type: "object", properties: { metadata: objectMetaSchema } };

function problems(
  kind: KindSchema,
  object: UnstructuredObject,
  old?: UnstructuredObject,
  subresource = "",
): FieldError[] {
  const errors = kind.custom ? validateSchema(object, kind.schema) : builtinProblems(object, kind.schema);
  if (errors.length > 0) return errors;
  if (kind.custom) errors.push(...checkRules(object, old, ruleSchemaOf(kind.schema)));
  // The rules of built-in kinds are about what status requests leave as it was.
  return subresource === "status" ? errors : [...errors, ...(kind.rules?.validate?.(object) ?? [])];
}

const ruleSchemas = new WeakMap<Schema, Schema>();
function ruleSchemaOf(schema: Schema): Schema {
  const known = ruleSchemas.get(schema) ?? ruleSchema(schema);
  ruleSchemas.set(schema, known);
  return known;
}

/**
 * A stricter schema must not lock objects that were stored before it: what was already wrong in a custom resource
 * does not keep the rest of it from being changed.
 */
function ratcheted(kind: KindSchema, errors: FieldError[], old: UnstructuredObject): FieldError[] {
  if (!kind.custom || errors.length === 0) return errors;
  const before = new Set(validateSchema(old, kind.schema).map((error) => `${error.field}: ${error.body}`));
  return errors.filter((error) => !before.has(`${error.field}: ${error.body}`));
}

/**
 * Built-in kinds have messages of their own, keyed lists whose keys may repeat (`env`), and statuses in which a missing
 * text is an empty one.
 */
function builtinProblems(object: UnstructuredObject, schema: Schema): FieldError[] {
  return validateSchema(object, schema)
    .filter(({ reason }) => reason !== "FieldValueDuplicate")
    .filter(({ reason, field }) => reason !== "FieldValueRequired" || !field.startsWith("status."))
    .map((error) => ({ ...error, body: error.body.replace(/: \S+ in body should be /, ": must be ") }));
}
