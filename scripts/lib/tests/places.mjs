// Where the sources say what programs made of them say.
import { readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { dirname, resolve } from "node:path";

const PLACE = /(?:file:\/\/)?(\/[^\s()'":]+\.mjs):(\d+):(\d+)/g;

/**
 * `text` with the places of sources in place of those in programs that have a source map beside them. Node.js can do it
 * itself (`--enable-source-maps`), for every error that a test makes and throws away: a tenth of the processor time of all.
 */
export function withSourcePlaces(text) {
  const maps = new Map();
  return text.replace(PLACE, (place, program, line, column) => {
    if (!maps.has(program)) maps.set(program, mapOf(program));
    const { originalSource, originalLine, originalColumn } =
      maps.get(program)?.findEntry(Number(line) - 1, Number(column) - 1) ?? {};
    if (originalSource === undefined) return place;
    const source = resolve(dirname(program), originalSource);
    return `${source}:${originalLine + 1}:${originalColumn + 1}`;
  });
}

function mapOf(program) {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${program}.map`, "utf8")));
  } catch {
    return undefined;
  }
}
