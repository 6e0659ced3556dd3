/**
 * The fields that have a value, for `{ ...defined({ a, b }) }`: an optional field is left out, and never there as undefined,
 * which a type with exact optional fields refuses and JSON forgets. Where the field is made of the optional value, as in
 * `...(seconds === undefined ? {} : { expiresAt: after(seconds) })`, the long form stays: it alone narrows the type of what the
 * field is made of, and a second helper that is given a function would say the same in no fewer words.
 */
export function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present) as { [K in keyof T]?: Exclude<T[K], undefined> };
}
