import { applyPatch, type Operation } from "rfc6902";
import { badRequest } from "../object/errors.ts";
import { StatusError } from "../object/status-error.ts";

const OPERATIONS = new Set(["add", "remove", "replace", "move", "copy", "test"]);

/** The library skips such segments and would write to the object above. */
const REACHES_PROTOTYPE = /\/(?:__proto__|prototype|constructor)(?:\/|$)/;

/** Applies a JSON Patch (RFC 6902) to a copy. Throws BadRequest (no such patch) or Invalid (it does not fit). */
export function applyJsonPatch<T>(target: T, operations: unknown): T {
  if (!Array.isArray(operations)) throw badRequest("a JSON patch must be a list of operations");
  const result = structuredClone(target);
  for (const operation of operations) {
    if (!isOperation(operation))
      throw badRequest(`unknown JSON patch operation ${JSON.stringify(operation)}`);
    if (REACHES_PROTOTYPE.test(operation.path)) {
      throw new StatusError(
        "Invalid",
        `the patch does not fit: ${JSON.stringify(operation.path)} is no path of an object`,
      );
    }
    const [failure] = applyPatch(result, [structuredClone(operation)]);
    if (failure !== null && failure !== undefined) {
      const { op, path } = operation;
      throw new StatusError(
        "Invalid",
        `the patch does not fit: ${op} ${JSON.stringify(path)}: ${failure.message}`,
      );
    }
  }
  return result;
}

function isOperation(value: unknown): value is Operation {
  if (typeof value !== "object" || value === null) return false;
  const { op, path, from } = value as Record<string, unknown>;
  if (typeof op !== "string" || !OPERATIONS.has(op) || !isPointer(path)) return false;
  if ((op === "add" || op === "replace" || op === "test") && !Object.hasOwn(value, "value")) return false;
  return (op !== "move" && op !== "copy") || isPointer(from);
}

/** RFC 6901: the whole document, or segments that each begin with a slash. The library throws for anything else. */
function isPointer(value: unknown): boolean {
  return typeof value === "string" && (value === "" || value.startsWith("/"));
}
