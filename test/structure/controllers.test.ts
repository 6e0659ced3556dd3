import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const PARTS = ["read.ts", "decide.ts", "apply.ts", "index.ts"];
/** How a controller comes to run: the loop itself, and what others make of it for their own. */
const BEGINS = /new Reconciler[<(]|\bsidecarController[<(]|\bworkloadController[<(]|\brunTicketService[<(]/;
const LOOP = "packages/store/src/controller/";
/** A loop that is written by hand: it goes round by a clock, or until its signal. */
const BY_HAND = /\bsetInterval\(|\bwhile \(![\w.#]*aborted\b/;
const HEADING = "## Loops beside the Reconciler";
/** What no process of Mooring runs. */
const NOT_SHIPPED = /\/(testing|crash|fuzz|simulation)\//;
/** Those others. */
const FRAMES = [
  "packages/sidecars/src/common/controller.ts",
  "packages/standalone/src/controllers/workloads/controller.ts",
  "packages/store/src/controller/reconciler",
];

interface Source {
  path: string;
  text: string;
}

async function sources(): Promise<Source[]> {
  const all: Source[] = [];
  for (const name of await readdir(join(ROOT, "packages"))) {
    const src = join(ROOT, "packages", name, "src");
    if (!existsSync(src)) continue;
    for (const entry of await readdir(src, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile() || !entry.name.endsWith(".ts") || entry.name.endsWith(".test.ts")) continue;
      const path = join(entry.parentPath, entry.name);
      all.push({ path: relative(ROOT, path), text: await readFile(path, "utf8") });
    }
  }
  return all;
}

test("every controller runs on the one loop, in a folder of read, decide, apply and index", async () => {
  const all = await sources();
  const queues = all.filter(({ path, text }) => {
    const isLoop = path.startsWith(LOOP) || path.includes("/testing/");
    return !isLoop && /new WorkQueue\(|\brunController\(/.test(text);
  });
  assert.deepEqual(
    queues.map(({ path }) => path),
    [],
    "a loop of its own",
  );
  const begins = all.filter(
    ({ path, text }) => BEGINS.test(text) && !FRAMES.some((frame) => path.startsWith(frame)),
  );
  const unlisted = all.filter(
    ({ path, text }) =>
      /new Reconciler[<(]/.test(text) && !path.startsWith(LOOP) && !text.includes("failpoints"),
  );
  assert.deepEqual(
    unlisted.map(({ path }) => path),
    [],
    "no failpoints behind its steps (decision 46)",
  );
  // One that polls is a controller as well: its folder decides, and begins.
  const polls = all.filter(({ path }) => {
    const isDecision = /\/decide(-[a-z-]+)?\.ts$/.test(path);
    return isDecision && existsSync(join(ROOT, dirname(path), "index.ts"));
  });
  const folders = [...new Set([...begins, ...polls].map(({ path }) => dirname(path)))];
  assert.ok(folders.length >= 35, `${folders.length} folders`);
  const unexplained: string[] = [];
  for (const folder of folders) {
    const missing = PARTS.filter((part) => !existsSync(join(ROOT, folder, part)));
    if (missing.length === 0) continue;
    const [, name = "", within = ""] = /^packages\/([^/]+)\/src\/(.*)$/.exec(folder) ?? [];
    const readme = await readFile(join(ROOT, "packages", name, "README.md"), "utf8");
    // A line that names the folder, and each file that it has not.
    const said = readme
      .split("\n")
      .some(
        (line) => line.includes(`\`${within}\``) && missing.every((part) => line.includes(`\`${part}\``)),
      );
    if (!said) unexplained.push(`${folder} has no ${missing.join(", ")}`);
  }
  assert.deepEqual(unexplained, []);
});

test("each loop beside the one has its reason in the README of its package", async () => {
  const wrong: string[] = [];
  for (const { path, text } of await sources()) {
    if (!BY_HAND.test(text) || NOT_SHIPPED.test(path) || path.startsWith(LOOP)) continue;
    const [, name = "", within = ""] = /^packages\/([^/]+)\/src\/(.*)$/.exec(path) ?? [];
    const readme = await readFile(join(ROOT, "packages", name, "README.md"), "utf8");
    const [, reasons = ""] = readme.split(`\n${HEADING}\n`);
    const names = [within, dirname(within)].map((known) => `\`${known}\``);
    if (!names.some((known) => reasons.split(/\n#/)[0]?.includes(known))) wrong.push(path);
  }
  assert.deepEqual(wrong, [], `not below "${HEADING}"`);
});

/** Where a controller begins, and the first name after it. */
const NAMED =
  /(?:new Reconciler|\bsidecarController|\bworkloadController|\brunTicketService|\brunVolumeTickets)[<(](?:(?!\bname: ["`])[\s\S])*?\bname: (?:"([^"]+)"|`([^`]+)`)/g;

/** Take part in histories that begin with one of each, and have no list. */
const OWN_HISTORIES: Readonly<Record<string, string>> = {
  deployment: "controllers/workloads",
  "replica-set": "controllers/workloads",
  "stateful-set": "controllers/workloads",
};

async function namesOfControllers(): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  for (const { path, text } of await sources()) {
    if (path.startsWith(LOOP) || NOT_SHIPPED.test(path)) continue;
    for (const [, plain, made] of text.matchAll(NAMED)) {
      const name = plain ?? made ?? "";
      found.set(name, [...(found.get(name) ?? []), path]);
    }
  }
  assert.ok(found.size >= 45, `${found.size} names`);
  return found;
}

test("no two controllers have one name: counts, logs and what sleeps are told apart by it alone", async () => {
  const twice = [...(await namesOfControllers())].filter(([, paths]) => paths.length > 1);
  assert.deepEqual(twice, []);
});

test("every controller takes part in histories of random changes", async () => {
  const lists: string[] = [];
  for (const name of await readdir(join(ROOT, "packages"))) {
    const src = join(ROOT, "packages", name, "src");
    for (const path of await readdir(src, { recursive: true }))
      if (path.endsWith("histories.test.ts")) lists.push(await readFile(join(src, path), "utf8"));
  }
  const all = lists.join("\n");
  const absent = [...(await namesOfControllers()).keys()].filter((name) => {
    const [literal = "", isMade] = name.split("${");
    return (
      !Object.hasOwn(OWN_HISTORIES, name) &&
      !all.includes(isMade === undefined ? `"${literal}"` : `"${literal}`)
    );
  });
  assert.deepEqual(absent, []);
});

test("steps have names of small letters and hyphens", async () => {
  const odd = (await sources()).flatMap(({ path, text }) =>
    [...text.matchAll(/\bdo: "([^"]+)"/g)]
      .map(([, step = ""]) => step)
      .filter((step) => !/^[a-z]+(-[a-z]+)*$/.test(step))
      .map((step) => `${path}: ${step}`),
  );
  assert.deepEqual(odd, []);
});
