/** A CEL value as `%s` and error texts show it. */
export function celString(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return `[${value.map(celString).join(", ")}]`;
  if (value instanceof Date) return value.toISOString().replace(".000Z", "Z");
  if (value instanceof Uint8Array) return Buffer.from(value).toString();
  if (typeof value === "object" && Object.getPrototypeOf(value) === Object.prototype) {
    const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${entries.map(([key, item]) => `${key}: ${celString(item)}`).join(", ")}}`;
  }
  return String(value);
}

/** -1, 0 or 1 for two values of one ordered type; an error for any other. */
export function compareValues(a: unknown, b: unknown): number {
  const ordered = ["bigint", "number", "string", "boolean"];
  const [left, right] = [ordinal(a), ordinal(b)];
  if (!ordered.includes(typeof left) || !ordered.includes(typeof right))
    throw new Error("values cannot be ordered");
  return (left as number) < (right as number) ? -1 : (left as number) > (right as number) ? 1 : 0;
}
function ordinal(value: unknown): unknown {
  return value instanceof Date ? value.getTime() : value;
}

/** Equality across types, numbers by value. */
export function equalValues(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a))
    return Array.isArray(b) && a.length === b.length && a.every((item, i) => equalValues(item, b[i]));
  if (typeof a === "bigint" || typeof b === "bigint")
    return isNumber(a) && isNumber(b) && Number(a) === Number(b);
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (a instanceof Date && b instanceof Date) return a.getTime() === b.getTime();
  const [left, right] = [Object.entries(a), new Map(Object.entries(b))];
  return (
    left.length === right.size &&
    left.every(([key, item]) => right.has(key) && equalValues(item, right.get(key)))
  );
}
function isNumber(value: unknown): value is number | bigint {
  return typeof value === "number" || typeof value === "bigint";
}
