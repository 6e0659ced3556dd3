import { Environment } from "@marcbachmann/cel-js";
import { countSteps, noteComparisons } from "./cost.ts";
import { registerDurations } from "./library/durations.ts";
import { registerFormats } from "./library/formats.ts";
import { registerLists } from "./library/lists.ts";
import { registerMacros, withMacros, withoutMacros } from "./library/macros.ts";
import { registerNetwork } from "./library/network.ts";
import { registerQuantities } from "./library/quantities.ts";
import { registerStrings } from "./library/strings.ts";

/**
 * CEL as CustomResourceDefinitions have it: the language, optionals and the Kubernetes libraries. `self` and
 * `oldSelf` are dynamically typed; everything else is checked when a rule is compiled.
 */
export const environment = new Environment({
  enableOptionalTypes: true,
  homogeneousAggregateLiterals: false,
  limits: { maxAstNodes: 10_000, maxDepth: 100 },
})
  .registerVariable("self", "dyn")
  .registerVariable("oldSelf", "dyn");

for (const register of [
  registerMacros,
  registerStrings,
  registerLists,
  registerQuantities,
  registerNetwork,
  registerFormats,
  registerDurations,
]) {
  register(environment);
}

countSteps(environment);

/** A rule or message expression, compiled once. Throws CelCompileError. */
export interface Program {
  evaluate(variables: { self: unknown; oldSelf?: unknown }): unknown;
  /** The static type of the result; `dyn` when only evaluation shows it. */
  type: string;
}

/** The text is not a well-typed expression; the message points at the place. */
export class CelCompileError extends Error {
  override readonly name = "CelCompileError";
  constructor(cause: unknown) {
    super(withoutMacros(cause instanceof Error ? cause.message : String(cause)), { cause });
  }
}

/** Throws CelCompileError. */
export function parse(expression: string): ReturnType<typeof environment.parse> {
  try {
    return environment.parse(withMacros(expression));
  } catch (error) {
    throw new CelCompileError(error);
  }
}

/** Rules of definitions that have gone stay compiled until there are so many. */
const MOST_KEPT = 4096;
const programs = new Map<string, Program>();

/** A CEL expression, parsed and checked once as long as it is kept. Throws {@link CelCompileError} for one that does not fit the environment. */
export function compile(expression: string): Program {
  const known = programs.get(expression);
  if (known !== undefined) return known;
  const parsed = parse(expression);
  const check = parsed.check();
  if (!check.valid) throw new CelCompileError(check.error);
  noteComparisons(parsed.ast);
  const program: Program = { evaluate: (variables) => parsed(variables), type: check.type ?? "dyn" };
  if (programs.size >= MOST_KEPT) programs.clear();
  programs.set(expression, program);
  return program;
}
