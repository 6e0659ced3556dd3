/** Linux starts no program that is given a longer text. */
const LONGEST = 128 * 1024;

/**
 * Replaces `$(NAME)` by the variable, as in command, args and env values. Unknown ones stay; `$$` is one `$`. Throws a
 * RangeError where it would be longer than any text of a program, before it is: each variable may be twice the one before
 * it, and some thirty of those are more than there is memory.
 */
export function expandVariables(text: string, variables: Readonly<Record<string, string>>): string {
  let more = 0;
  const expanded = text.replace(REFERENCE, (match, name: string | undefined, at: number) => {
    const known = name !== undefined && Object.hasOwn(variables, name) ? variables[name] : undefined;
    const value = name === undefined ? "$" : (known ?? match);
    more += value.length - match.length;
    requireShort(at + match.length + more);
    return value;
  });
  requireShort(expanded.length);
  return expanded;
}

const REFERENCE = /\$\$|\$\(([^()]*)\)/g;

function requireShort(length: number): void {
  if (length > LONGEST)
    throw new RangeError(
      `longer than ${LONGEST} characters, which is the most that Linux gives a program in one text`,
    );
}
