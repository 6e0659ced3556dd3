import { type Environment, Optional } from "@marcbachmann/cel-js";

/** What the CEL library hands to macros; its type declarations leave it out. */
interface Node {
  op: string;
  args: [Node, string];
}
interface TypeOf {
  kind: string;
}
interface Scope {
  forkWithVariable(name: string, type: TypeOf): Scope;
  reuse(parent: Scope): Scope;
  setIterValue(value: unknown, evaluator: Evaluator): Scope;
}
interface Checker {
  check(node: Node, scope: Scope): TypeOf;
  getType(name: string): TypeOf;
  createError(code: string, message: string, node: Node): Error;
}
interface Evaluator {
  run(node: Node, scope: Scope): unknown;
  debugType(value: unknown): {
    fieldLazy(value: unknown, field: string, node: Node, evaluator: Evaluator): unknown;
  };
}
interface Call {
  receiver: Node;
  args: Node[];
}

function define(
  env: Environment,
  signature: string,
  typeCheck: (checker: Checker, scope: Scope, call: Call) => TypeOf,
  evaluate: (evaluator: Evaluator, scope: Scope, call: Call) => unknown,
): void {
  const macro = (call: Call) => ({
    args: call.args,
    async: false,
    typeCheck: (checker: Checker, _macro: unknown, scope: Scope) => typeCheck(checker, scope, call),
    evaluate: (evaluator: Evaluator, _macro: unknown, scope: Scope) => evaluate(evaluator, scope, call),
  });
  env.registerFunction(signature, macro as unknown as (...args: unknown[]) => unknown);
}

/** The library's own `has` takes plain paths only; the language allows any operand: `has(self[0].matches)`. */
const HAS = "__has";
/** The library's own `matches` supports JavaScript's regular expressions only, which lack inline flags. */
export const MATCHES = "__matches";
/** The library's own `duration` takes time that grows with the cube of the text. */
export const DURATION = "__duration";

/** The expression with `has`, `matches` and `duration` as we define them. Strings stay as they are. */
export function withMacros(expression: string): string {
  const tokens =
    /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|(?<![\w.])(?:has|duration)\s*\(|(?<=\.\s*)matches\s*\(/g;
  return expression.replace(tokens, (text) => {
    if (text.startsWith("has")) return `${HAS}(`;
    if (text.startsWith("duration")) return `${DURATION}(`;
    return text.startsWith("matches") ? `${MATCHES}(` : text;
  });
}
/** Text of the library with our names of macros replaced by those that the author of the rule wrote. */
export function withoutMacros(text: string): string {
  return [HAS, MATCHES, DURATION].reduce(
    (rest, name) => rest.replaceAll(`${name}(`, `${name.slice(2)}(`),
    text,
  );
}

/** Macros that the library lacks: the general `has`, `optMap`, `optFlatMap`, and loops with two variables. */
export function registerMacros(env: Environment): void {
  define(
    env,
    `${HAS}(ast): bool`,
    (checker, scope, { args: [field] }) => {
      if (field?.op !== "." && field?.op !== ".?") {
        throw checker.createError("invalid_macro_argument", "has() invalid argument", field as Node);
      }
      checker.check(field.args[0], scope);
      return checker.getType("bool");
    },
    (evaluator, scope, { args: [field] }) => {
      if (field === undefined) return false;
      const [operand, name] = field.args;
      const value = evaluator.run(operand, scope);
      if (value instanceof Optional && !value.hasValue()) return false;
      return evaluator.debugType(value).fieldLazy(value, name, field, evaluator) !== undefined;
    },
  );
  registerOptionals(env);
  registerLoops(env);
}

function nameOf(checker: Checker, node: Node | undefined): string {
  if (node?.op === "id") return String(node.args);
  throw checker.createError("invalid_macro_argument", "the variable must be a simple name", node as Node);
}

function registerOptionals(env: Environment): void {
  for (const [name, wrap] of [
    ["optMap", (value: unknown) => Optional.of(value)],
    ["optFlatMap", (value: unknown) => value],
  ] as const) {
    const scopes = new WeakMap<Call, Scope>();
    define(
      env,
      `optional.${name}(ast, ast): optional<dyn>`,
      (checker, scope, call) => {
        checker.check(call.receiver, scope);
        const inner = scope.forkWithVariable(nameOf(checker, call.args[0]), checker.getType("dyn"));
        scopes.set(call, inner);
        checker.check(call.args[1] as Node, inner);
        return checker.getType("optional<dyn>");
      },
      (evaluator, scope, call) => {
        const optional = evaluator.run(call.receiver, scope);
        const inner = scopes.get(call);
        if (!(optional instanceof Optional) || inner === undefined)
          throw new Error(`${name} needs an optional`);
        if (!optional.hasValue()) return Optional.none();
        const bound = inner.reuse(scope).setIterValue(optional.value(), evaluator);
        return wrap(evaluator.run(call.args[1] as Node, bound));
      },
    );
  }
}

/** Index and element of lists, key and value of maps. */
function entriesOf(value: unknown): [unknown, unknown][] {
  if (Array.isArray(value)) return value.map((item, i): [unknown, unknown] => [BigInt(i), item]);
  return Object.entries(value as Record<string, unknown>);
}

function registerLoops(env: Environment): void {
  const loops: Readonly<Record<string, (count: number, total: number) => boolean>> = {
    all: (count, total) => count === total,
    exists: (count) => count > 0,
    existsOne: (count) => count === 1,
  };
  for (const [name, decide] of Object.entries(loops)) {
    const scopes = new WeakMap<Call, [Scope, Scope]>();
    define(
      env,
      `list.${name}(ast, ast, ast): bool`,
      (checker, scope, call) => {
        checker.check(call.receiver, scope);
        const outer = scope.forkWithVariable(nameOf(checker, call.args[0]), checker.getType("dyn"));
        const inner = outer.forkWithVariable(nameOf(checker, call.args[1]), checker.getType("dyn"));
        scopes.set(call, [outer, inner]);
        checker.check(call.args[2] as Node, inner);
        return checker.getType("bool");
      },
      (evaluator, scope, call) => {
        const [outer, inner] = scopes.get(call) ?? [scope, scope];
        const entries = entriesOf(evaluator.run(call.receiver, scope));
        const hits = entries.filter(([key, value]) => {
          const first = outer.reuse(scope).setIterValue(key, evaluator);
          return (
            evaluator.run(call.args[2] as Node, inner.reuse(first).setIterValue(value, evaluator)) === true
          );
        });
        return decide(hits.length, entries.length);
      },
    );
  }
}
