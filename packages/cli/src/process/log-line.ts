import { styleText } from "node:util";

/** Longer values are truncated: the JSON of a log that is no terminal has the rest. */
const LONGEST_VALUE = 300;
/** What stands before the message, or is the same in each line of a process. */
const ELSEWHERE = new Set(["level", "time", "pid", "hostname", "msg"]);
const BARE = /^[\w.,:;/@+*%#()[\]<>|~^-]+$/;

/** A message and its fields as `MESSAGE key=value ...`, in one line whatever the values have in them. */
export function logLine(entry: Record<string, unknown>, { colors }: { colors: boolean }): string {
  const message = String(entry["msg"] ?? "").replace(/\s*\n\s*/g, " ");
  const fields = Object.entries(entry)
    .filter(([key]) => !ELSEWHERE.has(key))
    .flatMap(([key, value]) => fieldsOf(key, value))
    .map(([key, value]) => {
      const name = `${key}=`;
      return `${colors ? styleText("dim", name, { validateStream: false }) : name}${written(value)}`;
    });
  return [message, ...fields].filter((part) => part !== "").join(" ");
}

/**
 * Of a field with parts each has its own name, as in `key.name`. Of an error what it says; of one that we did not expect
 * also where it comes from.
 */
function fieldsOf(key: string, value: unknown): [string, unknown][] {
  if (value === undefined) return [];
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [[key, value]];
  if (isError(value)) return errorFields(key, value);
  return Object.entries(value).flatMap(([part, each]) => fieldsOf(`${key}.${part}`, each));
}

/** As pino writes errors. */
interface WrittenError {
  type: string;
  message: string;
  stack: string;
  code?: unknown;
}

function isError(value: object): value is WrittenError {
  return "message" in value && "stack" in value && "type" in value;
}

function errorFields(key: string, { type, message, stack, code }: WrittenError): [string, unknown][] {
  if (code !== undefined)
    return [
      [key, message],
      [`${key}.code`, code],
    ];
  const [, from] = /^\s+at (.*)$/m.exec(stack) ?? [];
  const fields: [string, unknown][] = [[key, `${type}: ${message}`]];
  return from === undefined ? fields : [...fields, [`${key}.at`, from]];
}

function written(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const short = text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text;
  return typeof value !== "string" || BARE.test(short) ? short : JSON.stringify(short);
}
