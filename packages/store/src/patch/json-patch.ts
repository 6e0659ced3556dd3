import { applyPatch, type Operation, Pointer } from "rfc6902";
import { badRequest } from "../object/errors.ts";
import { StatusError } from "../object/status-error.ts";

const OPERATIONS = new Set(["add", "remove", "replace", "move", "copy", "test"]);

/** The library skips such segments and would write to the object above. */
const REACHES_PROTOTYPE = /\/(?:__proto__|prototype|constructor)(?:\/|$)/;

/** As in Kubernetes. */
const MOST_OPERATIONS = 10_000;
/** What all copies of a patch may come to: each may double the object, and thirty of them fill any memory. */
const MOST_COPIED = { values: 4_000, characters: 3 * 1024 * 1024 };

/** Of a place in an object, which is nested no deeper and has no keys that are longer. */
const DEEPEST_PLACE = 1_000;
const LONGEST_PLACE = 64 * 1024;

/** Applies a JSON Patch (RFC 6902) to a copy. Throws BadRequest (no such patch) or Invalid (it does not fit). */
export function applyJsonPatch<T>(target: T, operations: unknown): T {
  if (!Array.isArray(operations)) throw badRequest("a JSON patch must be a list of operations");
  if (operations.length > MOST_OPERATIONS)
    throw tooLarge(`a JSON patch has ${MOST_OPERATIONS} operations at most, not ${operations.length}`);
  const result = structuredClone(target);
  const left = { ...MOST_COPIED };
  for (const operation of operations) {
    if (!isOperation(operation))
      throw badRequest(`unknown JSON patch operation ${JSON.stringify(operation)?.slice(0, 200)}`);
    if (REACHES_PROTOTYPE.test(operation.path)) {
      throw new StatusError(
        "Invalid",
        `the patch does not fit: ${JSON.stringify(operation.path)} is no path of an object`,
      );
    }
    if (operation.op === "copy") spend(left, Pointer.fromJSON(operation.from).get(result));
    const why = applied(result, operation);
    if (why !== undefined) {
      const { op, path } = operation;
      throw new StatusError(
        "Invalid",
        `the patch does not fit: ${op} ${JSON.stringify(path.slice(0, 200))}: ${why}`,
      );
    }
  }
  return result;
}

/** Why it does not fit; undefined: it did. The library throws where a path leads into a text or a number. */
function applied(result: unknown, operation: Operation): string | undefined {
  try {
    return applyPatch(result, [structuredClone(operation)])[0]?.message;
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError) return "there is no such place";
    throw error;
  }
}

/** Throws RequestEntityTooLarge when the copies of a patch have come to too much. */
function spend(left: { values: number; characters: number }, copied: unknown): void {
  const waiting: unknown[] = [copied];
  left.values -= 1;
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (typeof value === "string") left.characters -= value.length;
    const members = typeof value === "object" && value !== null ? Object.entries(value) : [];
    left.values -= members.length;
    if (!Array.isArray(value)) for (const [key] of members) left.characters -= key.length;
    if (left.values < 0 || left.characters < 0)
      throw tooLarge("the copies of the JSON patch come to too much");
    for (const [, member] of members) waiting.push(member);
  }
}

const tooLarge = (why: string) => new StatusError("RequestEntityTooLarge", why);

function isOperation(value: unknown): value is Operation {
  if (typeof value !== "object" || value === null) return false;
  const { op, path, from } = value as Record<string, unknown>;
  if (typeof op !== "string" || !OPERATIONS.has(op) || !isPointer(path)) return false;
  if ((op === "add" || op === "replace" || op === "test") && !Object.hasOwn(value, "value")) return false;
  return (op !== "move" && op !== "copy") || isPointer(from);
}

/**
 * RFC 6901: the whole document, or segments that each begin with a slash. The library throws for anything else, and takes for
 * each character and segment what no check of the body has counted.
 */
function isPointer(value: unknown): boolean {
  if (typeof value !== "string" || value.length > LONGEST_PLACE) return false;
  return (
    value === "" || (value.startsWith("/") && value.split("/", DEEPEST_PLACE + 2).length <= DEEPEST_PLACE + 1)
  );
}
