/** One thing that is not as it was written. */
export interface Damage {
  /** What it is in, as far as that is known: `pods default/web`, `objects from pods/a to pods/m`, `page 17`. */
  where: string;
  what: string;
}

/** Thrown where reading cannot go on. The walk that meets it writes it down and goes on beside it. */
export class DamageError extends Error {
  override readonly name = "DamageError";
}
