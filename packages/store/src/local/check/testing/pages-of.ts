import { readTree, type TreeRecord } from "../meta-pages.ts";
import { readWide } from "../page-file.ts";

const PAGE = 4096;

/** The pages of a whole file by what is in them: the names that damages.tsv uses. */
export function pagesOf(file: Buffer): Map<string, number[]> {
  const found = new Map<string, number[]>([
    ["head-0", [0]],
    ["head-1", [1]],
  ]);
  const seen = new Set([0, 1]);
  const add = (part: string, page: number, count = 1): void => {
    for (let at = page; at < page + count; at++) {
      found.set(part, [...(found.get(part) ?? []), at]);
      seen.add(at);
    }
  };
  const walk = (page: number, part: string, leaf: (key: string, value: number) => void): void => {
    const start = page * PAGE;
    const branch = file.readUInt16LE(start + 18) === 1;
    add(branch ? "branch" : part, page);
    for (let index = 0; index < file.readUInt16LE(start + 20) >> 1; index++) {
      const node = start + 24 + file.readUInt16LE(start + 24 + 2 * index);
      const at = node + 8 + file.readUInt16LE(node + 6);
      if (branch) walk(file.readUInt32LE(node), part, leaf);
      else if (file.readUInt16LE(node + 4) === 1) add("long", readWide(file, at), file.readUInt32LE(at + 16));
      else leaf(file.toString("latin1", node + 8, at).replace("\0", ""), at);
    }
  };
  const newest = readWide(file, 152) > readWide(file, PAGE + 152) ? 0 : PAGE;
  const tables = new Map<string, TreeRecord>();
  walk(readTree(file, newest + 96).root, "tables", (name, at) => tables.set(name, readTree(file, at)));
  const parts = { objects: "leaf", events: "history", meta: "record" };
  for (const [name, part] of Object.entries(parts)) walk(tables.get(name)?.root ?? 0, part, () => {});
  walk(readTree(file, newest + 48).root, "free", () => {});
  for (let page = 0; page < file.length / PAGE; page++) if (!seen.has(page)) add("unused", page);
  return found;
}
