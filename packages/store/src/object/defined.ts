/**
 * The fields that have a value, for `{ ...defined({ a, b }) }`: an optional field is left out, and never there as undefined,
 * which a type with exact optional fields refuses and JSON forgets.
 */
export function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present) as { [K in keyof T]?: Exclude<T[K], undefined> };
}
