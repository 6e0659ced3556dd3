import type { ASTNode } from "@marcbachmann/cel-js";
import { childSchema, isMap, type Schema } from "../model.ts";
import { parse } from "./environment.ts";
import { escapeField } from "./values.ts";

type Scope = ReadonlyMap<string, Schema | undefined>;
interface Finding {
  field: string;
  column: number;
}

/** Macros whose first arguments name loop variables. */
const LOOPS: ReadonlySet<string> = new Set(["all", "exists", "exists_one", "existsOne", "map", "filter"]);

/**
 * The first field that an expression reads and the schema does not declare, as the text of a compile error;
 * undefined when there is none, or when the schema does not show it.
 */
export function undeclaredField(expression: string, schema: Schema): string | undefined {
  const findings: Finding[] = [];
  const scope: Scope = new Map([
    ["self", schema],
    ["oldSelf", schema],
  ]);
  walk(parse(expression).ast, scope, findings);
  const [first] = findings;
  if (first === undefined) return undefined;
  return `ERROR: <input>:1:${first.column + 1}: undefined field '${first.field}'`;
}

/** The schema of what the node evaluates to, as far as that is known. */
function walk(node: ASTNode, scope: Scope, findings: Finding[]): Schema | undefined {
  switch (node.op) {
    case "id":
      return scope.get(node.args);
    case ".":
      return select(node.args[1], walk(node.args[0], scope, findings), node, findings);
    case "[]": {
      const list = walk(node.args[0], scope, findings);
      walk(node.args[1], scope, findings);
      return elementOf(list);
    }
    case "rcall":
      return walkMethod(node.args, scope, findings);
    default:
      for (const child of childrenOf(node.args)) walk(child, scope, findings);
      return undefined;
  }
}

function walkMethod(
  [name, receiver, args]: [string, ASTNode, ASTNode[]],
  scope: Scope,
  findings: Finding[],
): Schema | undefined {
  const target = walk(receiver, scope, findings);
  const [variable, ...rest] = args;
  if (!LOOPS.has(name) || variable?.op !== "id") {
    for (const argument of args) walk(argument, scope, findings);
    return undefined;
  }
  // With two variables the first is an index or a key; `map` has a filter instead.
  const [second] = rest;
  const pair = rest.length === 2 && name !== "map" && second?.op === "id";
  const element = target?.type === "array" ? target.items : undefined;
  const inner = new Map(scope);
  inner.set(variable.args, pair ? undefined : element);
  if (pair) inner.set(String(second.args), elementOf(target));
  for (const argument of pair ? rest.slice(1) : rest) walk(argument, inner, findings);
  return name === "filter" ? target : undefined;
}

function elementOf(schema: Schema | undefined): Schema | undefined {
  if (schema?.type === "array") return schema.items;
  return typeof schema?.additionalProperties === "object" ? schema.additionalProperties : undefined;
}

function select(
  name: string,
  schema: Schema | undefined,
  node: ASTNode,
  findings: Finding[],
): Schema | undefined {
  if (schema === undefined) return undefined;
  if (isMap(schema)) return childSchema(schema, name);
  const field = Object.keys(schema.properties ?? {}).find((each) => escapeField(each) === name);
  if (field !== undefined) return schema.properties?.[field];
  const open =
    schema.type !== "object" ||
    schema.properties === undefined ||
    schema["x-kubernetes-preserve-unknown-fields"] === true ||
    schema["x-kubernetes-embedded-resource"] === true;
  if (!open) findings.push({ field: name, column: node.start });
  return undefined;
}

function childrenOf(args: unknown): ASTNode[] {
  if (Array.isArray(args)) return args.flatMap(childrenOf);
  return typeof args === "object" && args !== null && "op" in args ? [args as ASTNode] : [];
}
