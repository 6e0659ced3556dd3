/** The text without fenced blocks and code spans: nothing in them is a link. */
export function withoutCode(text: string): string {
  return text.replace(/^```[\s\S]*?^```/gm, "").replace(/`[^`\n]*`/g, "``");
}

/** Targets of `[text](target)`, images too. */
export function linksOf(text: string): string[] {
  return [...text.matchAll(/\]\(([^()\s]+)\)/g)].map(([, target = ""]) => target);
}

/** What `#...` in a link may name: the headings, written as the usual renderers do. */
export function anchorsOf(text: string): Set<string> {
  const headings = text.replace(/^```[\s\S]*?^```/gm, "").matchAll(/^#+ +(.+)$/gm);
  const slug = (heading: string): string =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .trim()
      .replace(/\s/g, "-");
  return new Set([...headings].map(([, heading = ""]) => slug(heading)));
}

/** One call of `mooring` in a page. */
export interface CommandLine {
  /** What may be commands: the words before the first that can be none. */
  words: string[];
  /** Long options. */
  options: string[];
}

/** What stands before the command's name: a prompt, variables, a way to become root, a way to find it. */
const CALL = /^(?:\$ )?(?:[A-Z_]+=\S+ )*(?:sudo )?(?:npx |\.\/)?mooring ([a-z-].*)$/;

/** Every call in code spans, and in blocks that are typed: all of `sh`, and what follows a prompt in `console`. */
export function commandLines(text: string): CommandLine[] {
  const blocks = [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```/gm)].flatMap(([, kind = "", body = ""]) => {
    const lines = body.replaceAll("\\\n", " ").split("\n");
    if (kind === "sh" || kind === "bash") return lines;
    return kind === "console" ? lines.filter((line) => line.startsWith("$ ")) : [];
  });
  const spans = [...text.replace(/^```[\s\S]*?^```/gm, "").matchAll(/`([^`\n]+)`/g)].map(
    ([, span = ""]) => span,
  );
  return [...blocks, ...spans].flatMap((line) => {
    const [, rest] = CALL.exec(line.trim()) ?? [];
    return rest === undefined ? [] : [parse(rest)];
  });
}

function parse(rest: string): CommandLine {
  const all = (rest.split(/ #| [|&;>]/)[0] ?? "").split(/\s+/);
  const end = all.findIndex((word) => !/^[a-z][a-z-]*$/.test(word));
  return {
    words: end < 0 ? all : all.slice(0, end),
    options: all.flatMap((word) => /^--[a-z-]+/.exec(word) ?? []),
  };
}

/** The fenced blocks of one kind below a heading, up to the next heading of the same or a higher level. */
export function blocksBelow(text: string, heading: string, kind: string): string[] {
  const [, level = "##"] = /^(#+) /.exec(heading) ?? [];
  const begin = text.indexOf(`${heading}\n`);
  if (begin < 0) throw new Error(`there is no heading "${heading}"`);
  const rest = text.slice(begin + heading.length);
  const end = rest.search(new RegExp(`^#{1,${level.length}} `, "m"));
  const section = end < 0 ? rest : rest.slice(0, end);
  return [...section.matchAll(/^```(\w*)\n([\s\S]*?)^```/gm)].flatMap(([, is = "", body = ""]) =>
    is === kind ? [body] : [],
  );
}
