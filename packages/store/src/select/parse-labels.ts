import { badRequest } from "../object/errors.ts";
import type { LabelRequirement } from "./requirement.ts";

const SYMBOLS = ["==", "!=", "=", "!", "(", ")", ",", ">", "<"];
const OPERATORS: Readonly<Record<string, LabelRequirement["operator"]>> = {
  ...{ "=": "In", "==": "In", "!=": "NotIn", in: "In", notin: "NotIn", ">": "Gt", "<": "Lt" },
};
const TEXT = /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/;
const DOMAIN = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;
const INTEGER = /^[+-]?\d{1,19}$/;

/** A symbol or an identifier; empty at the end of the text. */
type Token = string;

const isToken = (token: Token) => token !== "" && !SYMBOLS.includes(token);
const isEnd = (token: Token) => token === "" || token === ",";

/** What stands in a selector, without the blanks. */
function tokensOf(text: string): Token[] {
  return text.match(/==|!=|[=!(),<>]|[^\s=!(),<>]+/g) ?? [];
}

/** What to write instead of `==` with nothing behind it, which Kubernetes takes for a comparison with the empty value. */
export function emptyValue(name: string): string {
  return `for the empty value write '${name}='`;
}

/** Reads the string form of label selectors as Kubernetes does, with the same complaints; `a==` is refused (decision 0114). */
export class LabelParser {
  readonly #tokens: Token[];
  #at = 0;

  constructor(text: string) {
    this.#tokens = tokensOf(text);
  }

  /** Throws BadRequest. */
  parse(): LabelRequirement[] {
    const requirements: LabelRequirement[] = [];
    if (this.#peek() === "") return [];
    if (!isToken(this.#peek()) && this.#peek() !== "!")
      throw this.#unexpected("!, identifier, or 'end of string'");
    for (;;) {
      requirements.push(this.#requirement());
      const after = this.#peek();
      if (after === "") return requirements;
      if (after !== ",") throw this.#unexpected("',' or 'end of string'");
      this.#at += 1;
      if (!isToken(this.#peek()) && this.#peek() !== "!") throw this.#unexpected("identifier after ','");
    }
  }

  #peek(): Token {
    return this.#tokens[this.#at] ?? "";
  }

  #take(): Token {
    const token = this.#peek();
    this.#at += 1;
    return token;
  }

  #unexpected(expected: string, inside = ""): Error {
    return badRequest(`${inside}found '${this.#peek()}', expected: ${expected}`);
  }

  #wrong(expected: string): Error {
    return this.#unexpected(expected, "unable to parse requirement: ");
  }

  #requirement(): LabelRequirement {
    const negated = this.#peek() === "!";
    if (negated) this.#at += 1;
    if (!isToken(this.#peek())) throw this.#wrong("identifier");
    const key = this.#take();
    checkKey(key);
    if (negated) return { key, operator: "DoesNotExist", values: [] };
    if (isEnd(this.#peek())) return { key, operator: "Exists", values: [] };
    const token = this.#peek();
    const operator = Object.hasOwn(OPERATORS, token) ? OPERATORS[token] : undefined;
    if (operator === undefined) throw this.#wrong("in, notin, =, ==, !=, gt, lt");
    this.#at += 1;
    if (token === "==" && isEnd(this.#peek())) throw this.#wrong(`a value after '=='; ${emptyValue(key)}`);
    const values = isToken(token) ? this.#set() : [this.#value()];
    checkValues(key, operator, values);
    return { key, operator, values };
  }

  #value(): string {
    if (isEnd(this.#peek())) return "";
    if (!isToken(this.#peek())) throw this.#wrong("identifier");
    return this.#take();
  }

  /** `(a,b)`; where nothing stands between two of these signs, the empty value is meant. */
  #set(): string[] {
    if (this.#peek() !== "(") throw this.#wrong("'('");
    this.#at += 1;
    const first = this.#peek();
    if (!isToken(first) && first !== "," && first !== ")") throw this.#wrong("',', ')' or identifier");
    const values = new Set<string>();
    for (;;) {
      values.add(isToken(this.#peek()) ? this.#take() : "");
      const after = this.#peek();
      if (after !== "," && after !== ")") throw this.#wrong("',' or ')'");
      this.#at += 1;
      if (after === ")") return [...values];
    }
  }
}

function refuse(where: string, value: string, why: string): never {
  throw badRequest(`unable to parse requirement: ${where}: Invalid value: ${JSON.stringify(value)}: ${why}`);
}

/** `[prefix/]name`, the prefix a DNS subdomain. */
export function isLabelKey(key: string): boolean {
  const [name = "", prefix, ...more] = key.split("/").reverse();
  const hasPrefix = prefix === undefined || (prefix.length <= 253 && DOMAIN.test(prefix));
  return hasPrefix && more.length === 0 && name.length <= 63 && TEXT.test(name);
}

/** At most 63 letters, digits, `-`, `_` and `.`, a letter or a digit at both ends; or empty. */
export function isLabelValue(value: string): boolean {
  return value === "" || (value.length <= 63 && TEXT.test(value));
}

function checkKey(key: string): void {
  if (!isLabelKey(key))
    refuse(
      "<nil>",
      key,
      "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character, after an optional DNS subdomain prefix and '/'",
    );
}

function checkValues(key: string, operator: LabelRequirement["operator"], values: readonly string[]): void {
  const [only = ""] = values;
  if ((operator === "Gt" || operator === "Lt") && !INTEGER.test(only))
    refuse("values[0]", only, "for 'Gt', 'Lt' operators, the value must be an integer");
  for (const [index, value] of values.entries()) {
    if (isLabelValue(value)) continue;
    refuse(
      `values[${index}][${key}]`,
      value,
      "a valid label must be an empty string or at most 63 alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
    );
  }
}
