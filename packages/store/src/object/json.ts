type Members = Record<string, unknown>;

/** A deep copy of plain JSON, which shares nothing with it; several times as fast as `structuredClone`. */
export function cloneJson<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(cloneJson) as T;
  const copy: Members = {};
  for (const key of Object.keys(value)) {
    const member = cloneJson((value as Members)[key]);
    // Assigned it would be the copy's prototype.
    if (key === "__proto__")
      Object.defineProperty(copy, key, {
        value: member,
        enumerable: true,
        configurable: true,
        writable: true,
      });
    else copy[key] = member;
  }
  return copy as T;
}

/** Whether both have the same text as JSON, whatever the order of members: one that is undefined is absent. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (!Array.isArray(a) && !Array.isArray(b)) return sameMembers(a as Members, b as Members);
  if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
  return a.every((item, at) => sameJson(item, b[at]));
}

function sameMembers(a: Members, b: Members): boolean {
  let difference = 0;
  for (const key of Object.keys(a)) {
    const member = a[key];
    if (member === undefined) continue;
    if (!Object.hasOwn(b, key) || !sameJson(member, b[key])) return false;
    difference += 1;
  }
  for (const key of Object.keys(b)) if (b[key] !== undefined) difference -= 1;
  return difference === 0;
}
