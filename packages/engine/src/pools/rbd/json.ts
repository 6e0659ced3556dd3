import { EngineError } from "../../errors.ts";

/** The text of a program, as JSON. */
export function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new EngineError("INTERNAL", `not the JSON that was asked for: ${text.slice(0, 100)}`, { cause });
  }
}

/** An object with whatever it has; throws for anything else. */
export function objectOf(value: unknown): Record<string, unknown> {
  if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  throw new EngineError("INTERNAL", `no object: ${JSON.stringify(value)}`);
}

/** A list; throws for anything else. */
export function listOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  throw new EngineError("INTERNAL", `no list: ${JSON.stringify(value)?.slice(0, 100)}`);
}
