import { MOST_COMPLAINTS } from "./limits.ts";

/** A path that is longer than this is shortened in the middle. */
const LONGEST_PATH = 1000;

/**
 * Keys that occur twice in one object of a valid JSON text. `JSON.parse` silently takes the last one; strict field
 * validation reports them. Scans strings and brackets only.
 */
export function duplicateFields(text: string): string[] {
  const found: string[] = [];
  const stack: Frame[] = [];
  const token = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]/g;
  let key: string | undefined;
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const frame = stack.at(-1);
    switch (match[0]) {
      case "{":
      case "[":
        stack.push({ keys: match[0] === "{" ? new Set() : undefined, index: 0, label: "" });
        break;
      case "}":
      case "]":
        stack.pop();
        break;
      case ",":
        if (frame !== undefined) frame.index += 1;
        break;
      case ":":
        if (frame?.keys !== undefined && key !== undefined) {
          frame.label = key;
          if (frame.keys.has(key)) found.push(`duplicate field "${pathOf(stack)}"`);
          if (found.length >= MOST_COMPLAINTS) return found;
          frame.keys.add(key);
        }
        break;
      default:
        key = frame?.keys === undefined ? undefined : JSON.parse(match[0]);
    }
  }
  return found;
}

interface Frame {
  /** Undefined in arrays. */
  keys: Set<string> | undefined;
  index: number;
  label: string;
}

function pathOf(stack: readonly Frame[]): string {
  let path = "";
  for (const frame of stack) {
    if (frame.keys === undefined) path += `[${frame.index}]`;
    else path += path === "" ? frame.label : `.${frame.label}`;
  }
  if (path.length <= LONGEST_PATH) return path;
  return `${path.slice(0, LONGEST_PATH / 2)}...${path.slice(-LONGEST_PATH / 2)}`;
}
