import type { Environment } from "@marcbachmann/cel-js";
import { BudgetSpent, spend } from "../budget.ts";

interface Node {
  op: string;
  args: unknown;
  evaluate(evaluator: Evaluator, node: Node, scope: unknown): unknown;
}
interface Evaluator {
  run(node: Node, scope: unknown): unknown;
  /** The error of what may fail: in `a || b` and in loops the other operand decides. */
  tryEval(node: Node, scope: unknown): unknown;
}

/** Operators that read all of their operands. */
const COMPARING: ReadonlySet<string> = new Set(["==", "!=", "in", "+"]);
const compared = new WeakSet<object>();
/** Lists and texts below this are taken as one step. */
const FREE = 16;
/** An error is made with its stack and the place in the text of the rule: some 10 microseconds. */
const FAILURE = 200;

/**
 * Has every step of an evaluation counted: the library has no limit of its own. All steps go through the `run` of the
 * environment's one evaluator, which is handed to functions that are macros.
 */
export function countSteps(env: Environment): void {
  let found: Evaluator | undefined;
  const macro = ({ args }: { args: unknown[] }) => ({
    async: false,
    args,
    typeCheck: (checker: { getType(name: string): unknown }) => checker.getType("bool"),
    evaluate: (evaluator: Evaluator) => {
      found = evaluator;
      return true;
    },
  });
  env.registerFunction("__evaluator(ast): bool", macro as unknown as () => boolean);
  env.evaluate("__evaluator(true)");
  if (found === undefined) throw new Error("the CEL library has changed: its steps cannot be counted");
  found.run = run;
  found.tryEval = tryEval;
}

/** What has cost too much is no operand that fails: a loop would go on with the next element, and fail at each. */
function tryEval(this: Evaluator, node: Node, scope: unknown): unknown {
  try {
    return this.run(node, scope);
  } catch (error) {
    if (error instanceof BudgetSpent) throw error;
    spend(FAILURE);
    return error;
  }
}

function run(this: Evaluator, node: Node, scope: unknown): unknown {
  spend(1);
  const result = node.evaluate(this, node, scope);
  if (typeof result === "string") {
    if (result.length > FREE) spend(result.length / 10);
  } else if (typeof result === "object" && result !== null && compared.has(node)) {
    spend(sizeOf(result) / 10);
  }
  return result;
}

/** Marks the operands that an expression reads as a whole. */
export function noteComparisons(node: unknown): void {
  if (typeof node !== "object" || node === null) return;
  if (Array.isArray(node)) {
    for (const each of node) noteComparisons(each);
    return;
  }
  const { op, args } = node as Partial<Node>;
  if (op === undefined) return;
  if (COMPARING.has(op) && Array.isArray(args))
    for (const operand of args) if (typeof operand === "object" && operand !== null) compared.add(operand);
  noteComparisons(args);
}

const sizes = new WeakMap<object, number>();

/** Values in a value; counted once for each. */
export function sizeOf(value: unknown): number {
  if (typeof value === "string") return 1 + value.length / FREE;
  if (typeof value !== "object" || value === null) return 1;
  const known = sizes.get(value);
  if (known !== undefined) return known;
  let size = 1;
  for (const each of Object.values(value)) size += sizeOf(each);
  sizes.set(value, size);
  return size;
}
