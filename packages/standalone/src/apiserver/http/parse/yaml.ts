import { badRequest } from "@mooring/store";
import { isAlias, isMap, isPair, isScalar, parseDocument, visit } from "yaml";
import type { Body } from "./body.ts";
import { type Limits, MOST_COMPLAINTS, MOST_DEPTH } from "./limits.ts";
import { checkMeasure } from "./measure.ts";

/** A YAML document as JSON. Keys that occur twice are found here: the parser compares each with each. */
export function readYaml(text: string, most: Limits): Body {
  checkIndentation(text);
  const document = parseDocument(text, {
    ...{ uniqueKeys: false, merge: true, prettyErrors: false, logLevel: "error" },
  });
  const [problem] = document.errors;
  if (problem !== undefined)
    throw badRequest(`error converting YAML to JSON: yaml: ${problem.message.split("\n", 1)[0]}`);
  const duplicates: string[] = [];
  visit(document, {
    Map(_key, map) {
      if (!isMap(map)) return;
      const seen = new Set<string>();
      for (const pair of map.items) {
        const key = isPair(pair) && isScalar(pair.key) ? String(pair.key.value) : undefined;
        // JSON has no such thing; the library would make a text of it, and warn of each on stderr.
        if (isPair(pair) && pair.key !== null && !isScalar(pair.key) && !isAlias(pair.key))
          throw badRequest("error converting YAML to JSON: yaml: a key of a map must be a text");
        if (key === undefined || key === "<<") continue;
        if (seen.has(key) && duplicates.length < MOST_COMPLAINTS)
          duplicates.push(`yaml: key ${JSON.stringify(key.slice(0, 100))} already set in map`);
        seen.add(key);
      }
    },
  });
  const value: unknown = document.toJS({ maxAliasCount: 100 });
  checkMeasure(value, most);
  // Through JSON, so that nothing but JSON values gets in (YAML has NaN, undefined and shared nodes).
  return { value: JSON.parse(JSON.stringify(value ?? null)), duplicates };
}

/** Before the parser sees it: it calls itself for every level. */
function checkIndentation(text: string): void {
  let open = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x5b || code === 0x7b) open += 1;
    else if (code === 0x5d || code === 0x7d) open = Math.max(0, open - 1);
    if (open > MOST_DEPTH) throw badRequest("the object provided is nested too deeply");
  }
}
