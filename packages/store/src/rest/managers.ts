/** The key as servers write it. Inside of a text its quotes would be escaped. */
const KEY = '"managedFields":[';
/** What such a list begins with, of kinds that a server has types for and of all others; an object may have data of this name, too. */
const BEGINS = ['{"manager":', '{"apiVersion":', "]"];
const QUOTE = 34;
const COMMA = 44;
const BACKSLASH = 92;
const OPEN_LIST = 91;
const CLOSE_LIST = 93;
const OPEN_MAP = 123;
const CLOSE_MAP = 125;

/**
 * The text of objects without who has set which field. That is half of what a server sends of most objects: skipping it takes a quarter
 * of the time that reading it takes, and leaves no garbage.
 */
export function withoutManagers(json: string): string {
  let [kept, from] = ["", 0];
  for (let at = json.indexOf(KEY); at >= 0; at = json.indexOf(KEY, at + 1)) {
    const list = at + KEY.length;
    if (!BEGINS.some((begin) => json.startsWith(begin, list))) continue;
    const end = endOfList(json, list);
    if (end === undefined) return json;
    // One of the commas around it goes as well.
    const isFirst = json.charCodeAt(at - 1) !== COMMA;
    kept += json.slice(from, isFirst ? at : at - 1);
    from = isFirst && json.charCodeAt(end) === COMMA ? end + 1 : end;
    at = end;
  }
  return from === 0 ? json : kept + json.slice(from);
}

/** Behind the end of the list that begins at `at`; undefined: the text ends before. */
function endOfList(json: string, at: number): number | undefined {
  for (let [depth, next] = [1, at]; next < json.length; next++) {
    const char = json.charCodeAt(next);
    if (char === QUOTE) next = endOfText(json, next);
    else if (char === OPEN_LIST || char === OPEN_MAP) depth += 1;
    else if ((char === CLOSE_LIST || char === CLOSE_MAP) && --depth === 0) return next + 1;
  }
  return undefined;
}

/** The quote that ends the text which the quote at `at` begins; where there is none, the end of all. */
function endOfText(json: string, at: number): number {
  for (let end = json.indexOf('"', at + 1); end >= 0; end = json.indexOf('"', end + 1)) {
    let first = end;
    while (json.charCodeAt(first - 1) === BACKSLASH) first -= 1;
    if ((end - first) % 2 === 0) return end;
  }
  return json.length;
}
