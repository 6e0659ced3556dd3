const patterns = new Map<string, RegExp>();

/**
 * A regular expression of RE2 syntax, compiled once. JavaScript has no inline flags (`^(?i)yes$`): here they hold for
 * the whole pattern. Throws a SyntaxError.
 */
export function patternOf(source: string): RegExp {
  let pattern = patterns.get(source);
  if (pattern === undefined) {
    const { body, flags } = translate(source);
    // Unicode mode reads `.` as a character, but refuses escapes that RE2 takes, such as `\-`.
    pattern = compile(body, `u${flags}`) ?? new RegExp(body, flags);
    patterns.set(source, pattern);
  }
  return pattern;
}

function translate(source: string): { body: string; flags: string } {
  const flags = new Set<string>();
  const note = (letters: string): void => {
    for (const flag of letters) if ("ims".includes(flag)) flags.add(flag);
  };
  const body = source.replace(
    /\\[\s\S]|\(\?P<|\(\?([imsU]*)(?:-[imsU]+)?([:)])/g,
    (text, letters?: string, end?: string) => {
      if (text === "\\A") return "^";
      if (text === "\\z") return "$";
      if (text === "(?P<") return "(?<";
      if (end === undefined) return text;
      note(letters ?? "");
      return end === ":" ? "(?:" : "";
    },
  );
  return { body, flags: [...flags].join("") };
}

function compile(source: string, flags: string): RegExp | undefined {
  try {
    return new RegExp(source, flags);
  } catch {
    return undefined;
  }
}
