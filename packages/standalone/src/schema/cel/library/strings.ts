import type { Environment } from "@marcbachmann/cel-js";
import { spend } from "../../budget.ts";
import { patternOf } from "../../pattern.ts";
import { MATCHES } from "./macros.ts";
import { celString } from "./show.ts";

/** cel-go's strings extension, as far as the language itself lacks it, and Kubernetes' regular expressions. */
export function registerStrings(env: Environment): void {
  env
    .registerFunction("string.charAt(int): string", (text: string, index: bigint) => charAt(text, index))
    .registerFunction("string.replace(string, string): string", replaceAll)
    .registerFunction(
      "string.replace(string, string, int): string",
      (text: string, from: string, to: string, limit: bigint) => replaceSome(text, from, to, Number(limit)),
    )
    .registerFunction("string.reverse(): string", (text: string) => [...text].reverse().join(""))
    .registerFunction("string.format(list<dyn>): string", (text: string, values: unknown[]) =>
      format(text, values),
    )
    .registerFunction(
      "string.find(string): string",
      (text: string, pattern: string) => patternOf(pattern).findAll(text, 1)[0] ?? "",
    )
    .registerFunction("string.findAll(string): list<string>", (text: string, pattern: string) =>
      patternOf(pattern).findAll(text),
    )
    .registerFunction(
      "string.findAll(string, int): list<string>",
      (text: string, pattern: string, limit: bigint) =>
        patternOf(pattern).findAll(text, limit < 0n ? undefined : Number(limit)),
    )
    .registerFunction(`string.${MATCHES}(string): bool`, (text: string, pattern: string) =>
      patternOf(pattern).test(text),
    )
    .registerFunction("matches(string, string): bool", (text: string, pattern: string) =>
      patternOf(pattern).test(text),
    );
}

function charAt(text: string, index: bigint): string {
  const at = Number(index);
  const letters = [...text];
  if (at < 0 || at > letters.length) throw new Error(`index out of range: ${at}`);
  return letters[at] ?? "";
}

/** Paid for before it is made: a few characters may become many, many times. */
function replaceAll(text: string, from: string, to: string): string {
  const parts = text.split(from);
  spend(((parts.length - 1) * to.length) / 10);
  return parts.join(to);
}

function replaceSome(text: string, from: string, to: string, limit: number): string {
  if (limit < 0) return replaceAll(text, from, to);
  let [result, rest, left] = ["", text, limit];
  for (; left > 0; left -= 1) {
    const at = rest.indexOf(from);
    if (at < 0) break;
    spend(to.length / 10);
    result += rest.slice(0, at) + to;
    rest = rest.slice(at + from.length);
  }
  return result + rest;
}

/** `%s %d %f %e %b %o %x %X %%`. */
function format(text: string, values: unknown[]): string {
  let next = 0;
  return text.replace(/%(?:\.(\d+))?([sdfeboxX%])/g, (_all, precision: string | undefined, verb: string) => {
    if (verb === "%") return "%";
    if (next >= values.length) throw new Error(`index ${next} out of range`);
    const value = values[next];
    next += 1;
    const digits = precision === undefined ? 6 : Number(precision);
    switch (verb) {
      case "f":
        return Number(value).toFixed(digits);
      case "e":
        return Number(value).toExponential(digits);
      case "b":
        return typeof value === "boolean" ? String(Number(value)) : BigInt(value as bigint).toString(2);
      case "o":
        return BigInt(value as bigint).toString(8);
      case "x":
      case "X": {
        const hex =
          typeof value === "string"
            ? Buffer.from(value).toString("hex")
            : BigInt(value as bigint).toString(16);
        return verb === "x" ? hex : hex.toUpperCase();
      }
      default:
        return celString(value);
    }
  });
}
