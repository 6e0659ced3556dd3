let names = 0;

/** A name that no other volume or snapshot of this process has. */
export function freshName(what: string): string {
  names += 1;
  return `${what}-${names}`;
}
