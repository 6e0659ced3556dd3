import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { sample } from "@mooring/store/testing";
import { MooringProcess, plainEnvironment } from "../csi/support/process.ts";
import { anchorsOf, type CommandLine, commandLines, linksOf, withoutCode } from "./markdown.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FOLDERS = ["docs", "packages", "examples"];

interface Page {
  /** From the root of the repository. */
  path: string;
  text: string;
}

async function pagesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(join(ROOT, folder), { withFileTypes: true });
  const found = entries.map((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === "node_modules" ? [] : pagesBelow(path);
    return path.endsWith(".md") ? [path] : [];
  });
  return (await Promise.all(found)).flat();
}

const paths = ["README.md", ...(await Promise.all(FOLDERS.map(pagesBelow))).flat()];
const pages: Page[] = await Promise.all(
  paths.map(async (path) => ({ path, text: await readFile(join(ROOT, path), "utf8") })),
);

test("every relative link of the documentation leads to a file, and to a heading in it", async () => {
  const broken: string[] = [];
  let checked = 0;
  for (const { path, text } of pages) {
    for (const link of linksOf(withoutCode(text))) {
      if (/^[a-z]+:/.test(link)) continue;
      checked += 1;
      if (!(await resolves(path, link))) broken.push(`${path}: ${link}`);
    }
  }
  assert.ok(checked >= 20, `${checked} links were checked`);
  assert.deepEqual(broken, []);
});

test("every page is found by somebody who starts at the README and follows links", () => {
  const found = new Set(["README.md"]);
  // A set that grows while it is walked is walked to its end.
  for (const path of found) {
    const { text = "" } = pages.find((page) => page.path === path) ?? {};
    const targets = linksOf(withoutCode(text)).filter((link) => !/^[a-z]+:/.test(link));
    for (const link of targets) {
      const target = join(dirname(path), link.split("#")[0] ?? "");
      found.add(target.endsWith(".md") ? target : join(target, "README.md"));
    }
  }
  const orphans = paths.filter((path) => !found.has(path));
  assert.deepEqual(orphans, []);
});

test("every npm script that the documentation names exists", async () => {
  const { scripts } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as { scripts: object };
  // The page of a package, or of an example, speaks of its own scripts.
  const known = async (path: string): Promise<object> => {
    if (!/^(packages|examples)\//.test(path)) return scripts;
    const own = await readFile(join(ROOT, dirname(path), "package.json"), "utf8").catch(() => "{}");
    return { ...scripts, ...(JSON.parse(own) as { scripts?: object }).scripts };
  };
  const named: string[] = [];
  for (const { path, text } of pages) {
    const names = [...text.matchAll(/npm run ([a-z][a-z:-]*)/g)].map(([, name = ""]) => name);
    const there = await known(path);
    for (const name of names) assert.ok(name in there, `${path}: npm run ${name}`);
    named.push(...names);
  }
  assert.ok(named.includes("demo"));
});

test("every mooring command that the documentation names exists, with the options that it is given", async () => {
  const wrong: string[] = [];
  const lines = pages.flatMap(({ path, text }) => commandLines(text).map((line) => ({ path, line })));
  assert.ok(lines.length >= 50, `there are ${lines.length} command lines`);
  // Each command is a process that is asked for its help.
  const commands = [...new Set(lines.map(({ line }) => line.words.slice(0, 2).join(" ")))];
  const chosen = new Set(sample(commands, { everyday: 5 }));
  for (const { path, line } of lines) {
    if (!chosen.has(line.words.slice(0, 2).join(" "))) continue;
    const problem = await problemOf(line);
    if (problem !== undefined) wrong.push(`${path}: ${problem}`);
  }
  assert.deepEqual([...new Set(wrong)], []);
});

async function resolves(page: string, link: string): Promise<boolean> {
  const [path = "", anchor] = link.split("#");
  const target = path === "" ? join(ROOT, page) : join(ROOT, dirname(page), decodeURIComponent(path));
  // What a reader of a clone can follow does not leave it.
  if (relative(ROOT, target).startsWith("..") || !existsSync(target)) return false;
  if (anchor === undefined || !target.endsWith(".md")) return true;
  return anchorsOf(await readFile(target, "utf8")).has(anchor);
}

async function problemOf({ words, options }: CommandLine): Promise<string | undefined> {
  let path: string[] = [];
  let help = await helpOf(path);
  for (const word of words) {
    const commands = commandsIn(help);
    // The rest are arguments.
    if (commands.length === 0) break;
    if (!commands.includes(word)) return `there is no "mooring ${[...path, word].join(" ")}"`;
    path = [...path, word];
    help = await helpOf(path);
  }
  const unknown = options.find((option) => !new RegExp(`(^|[ ,])${option}(?![\\w-])`, "m").test(help));
  return unknown === undefined ? undefined : `"mooring ${path.join(" ")}" has no ${unknown}`;
}

const helps = new Map<string, Promise<string>>();

function helpOf(path: readonly string[]): Promise<string> {
  const key = path.join(" ");
  const help = helps.get(key) ?? askHelp(path);
  helps.set(key, help);
  return help;
}

async function askHelp(path: readonly string[]): Promise<string> {
  const asked = new MooringProcess([...path, "--help"], plainEnvironment());
  assert.equal(await asked.ended(), 0, asked.stderr);
  return asked.stdout;
}

/** Names below "Commands:". */
function commandsIn(help: string): string[] {
  const [, list = ""] = help.split(/^Commands:$/m);
  return [...list.matchAll(/^ {2}([a-z][a-z-]*)/gm)].map(([, name = ""]) => name);
}
