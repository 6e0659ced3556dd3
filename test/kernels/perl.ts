const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** A line for a guest's shell that runs a program of Perl. */
export function perl(program: string, ...args: readonly string[]): string {
  return ["exec", "perl", "-e", quoted(program.replaceAll("\n", " ")), ...args].join(" ");
}
