/** Applies a JSON Merge Patch (RFC 7386): null removes, objects merge, everything else replaces. */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return structuredClone(patch);
  const result: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else define(result, key, applyMergePatch(own(result, key), value));
  }
  return result;
}

/** The patch that leads from one value to the other; undefined when they are equal. */
export function createMergePatch(from: unknown, to: unknown): unknown {
  if (!isObject(from) || !isObject(to)) {
    return JSON.stringify(from) === JSON.stringify(to) ? undefined : structuredClone(to);
  }
  const patch: Record<string, unknown> = {};
  for (const key of new Set([...Object.keys(from), ...Object.keys(to)])) {
    const [before, after] = [own(from, key), own(to, key)];
    if (after === undefined) {
      if (before !== undefined) define(patch, key, null);
      continue;
    }
    const change = createMergePatch(before, after);
    if (change !== undefined) define(patch, key, change);
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function own(object: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Plain assignment would follow a `__proto__` key into the prototype. */
function define(object: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
