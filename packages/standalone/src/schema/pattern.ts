import { RE2JS } from "re2js";
import { spend } from "./budget.ts";

/** Longer ones take seconds to get ready. */
const MOST_PATTERN_CHARACTERS = 4096;
const MOST_KEPT = 4096;

/** A regular expression as Kubernetes has it: RE2's syntax and meaning, in time that grows with the text only. */
interface Pattern {
  /** Whether it is anywhere in the text. Throws BudgetSpent. */
  test(text: string): boolean;
  /** What it finds, from left to right, without overlaps; at most `most`. Throws BudgetSpent. */
  findAll(text: string, most?: number): string[];
}

const patterns = new Map<string, Pattern>();

/** Compiled once. Throws a SyntaxError. */
export function patternOf(source: string): Pattern {
  const known = patterns.get(source);
  if (known !== undefined) return known;
  const pattern = compile(source);
  if (patterns.size >= MOST_KEPT) patterns.clear();
  patterns.set(source, pattern);
  return pattern;
}

function compile(source: string): Pattern {
  if (source.length > MOST_PATTERN_CHARACTERS)
    throw new SyntaxError(`a regular expression has at most ${MOST_PATTERN_CHARACTERS} characters`);
  spend(source.length);
  const compiled = ready(source);
  return {
    test(text) {
      spend(text.length + 1);
      return compiled.test(text);
    },
    findAll(text, most = Number.POSITIVE_INFINITY) {
      // With groups it is no longer the fast machine that matches.
      spend(text.length * 4 + 1);
      const found: string[] = [];
      const matcher = compiled.matcher(text);
      while (found.length < most && matcher.find()) found.push(matcher.group() ?? "");
      return found;
    },
  };
}

function ready(source: string): RE2JS {
  try {
    return RE2JS.compile(source);
  } catch (error) {
    throw new SyntaxError(error instanceof Error ? error.message : String(error));
  }
}
