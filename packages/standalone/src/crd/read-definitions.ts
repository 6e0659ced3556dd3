import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parseAllDocuments } from "yaml";
import type { CustomResourceDefinition } from "./types.ts";

/** By the SHA-256 of the YAML that they were made of, as hexadecimal digits. */
type Parsed = Readonly<Record<string, CustomResourceDefinition[]>>;

/**
 * The definitions in these YAML files. Parsing those that come with Mooring takes a good part of a start, so the build leaves
 * what it parsed in `dist/definitions.json`; it counts for a file with just that content.
 */
export async function readDefinitions(files: readonly string[]): Promise<CustomResourceDefinition[]> {
  const [first] = files;
  const parsed = first === undefined ? {} : await parsedBeside(first);
  const read = async (file: string) => {
    const text = await readFile(file, "utf8");
    return parsed[createHash("sha256").update(text).digest("hex")] ?? parse(file, text);
  };
  return (await Promise.all(files.map(read))).flat();
}

/** Without it, or with one that cannot be read, everything is parsed here. */
async function parsedBeside(file: string): Promise<Parsed> {
  const path = join(dirname(file), "..", "..", "dist", "definitions.json");
  const text = await readFile(path, "utf8").catch(() => "{}");
  try {
    return JSON.parse(text) as Parsed;
  } catch {
    return {};
  }
}

function parse(file: string, text: string): CustomResourceDefinition[] {
  return parseAllDocuments(text).map((document) => {
    const [problem] = document.errors;
    if (problem !== undefined) throw new Error(`${file}: ${problem.message}`);
    return document.toJS() as CustomResourceDefinition;
  });
}
