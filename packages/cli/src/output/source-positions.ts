import { readFileSync } from "node:fs";
import { SourceMap, type SourceMapPayload } from "node:module";
import { dirname, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** `(/folder/serving-ABC.cjs:12:3456)`, of a bundle; as a module's URL too. */
const POSITION = /((?:file:\/\/)?\/[^\s():]+\.[cm]js):(\d+):(\d+)/g;

/**
 * The stack with the positions of the sources where a program has its source map beside it, as it is where there is none. Node.js
 * does that itself with `--enable-source-maps`, and keeps the map of megabytes in memory for it, from the start.
 */
export function withSourcePositions(stack: string): string {
  const maps = new Map<string, SourceMap | undefined>();
  return stack.replace(POSITION, (position, file: string, line: string, column: string) => {
    const path = file.startsWith("file:") ? fileURLToPath(file) : file;
    if (!maps.has(path)) maps.set(path, mapOf(path));
    // Both count from 0 there.
    const entry = maps.get(path)?.findEntry(Number(line) - 1, Number(column) - 1);
    if (entry === undefined || !("originalSource" in entry)) return position;
    const source = relative(process.cwd(), resolve(dirname(path), entry.originalSource));
    return `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
  });
}

function mapOf(path: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${path}.map`, "utf8")) as SourceMapPayload);
  } catch {
    // None, as in a package, or half of one: the positions in the program are what there is then.
    return undefined;
  }
}
