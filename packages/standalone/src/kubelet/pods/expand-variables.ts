/** Replaces `$(NAME)` by the variable, as in command, args and env values. Unknown ones stay; `$$` is one `$`. */
export function expandVariables(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replace(/\$\$|\$\(([^()]*)\)/g, (match, name: string | undefined) => {
    if (name === undefined) return "$";
    return Object.hasOwn(variables, name) ? (variables[name] ?? match) : match;
  });
}
