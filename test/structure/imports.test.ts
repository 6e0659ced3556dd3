import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { dirname, join, normalize, relative } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** What the sources of a package may import of ours. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  csi: [],
  store: [],
  sidecars: ["csi", "store"],
  engine: ["store"],
  driver: ["csi", "store", "engine"],
  standalone: ["csi", "store", "sidecars", "engine", "driver"],
  cli: ["csi", "store", "sidecars", "engine", "driver", "standalone"],
};

/** What a room of the engine may not import: each is named by where code runs, and no code runs in two places. */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  api: ["cluster", "host", "leases", "node", "operator", "pools", "tickets"],
  host: ["cluster", "leases", "node", "operator", "pools", "tickets"],
  pools: ["cluster", "leases", "node", "operator", "tickets"],
  tickets: ["cluster", "host", "node", "operator", "pools"],
  leases: ["cluster", "node", "operator"],
  node: ["cluster", "operator"],
  cluster: ["node", "operator"],
  operator: ["cluster", "node"],
};

/**
 * What a folder may not import, below the sources of its package: what stands below others knows nothing of who uses it.
 * A name ends where its folder or file does.
 */
const BELOW: Readonly<Record<string, readonly string[]>> = {
  "csi/src/calls": ["client", "operations", "server", "v0", "validation"],
  "csi/src/client": ["server"],
  "csi/src/log": ["server"],
  "csi/src/operations": ["server"],
  "csi/src/v0": ["server"],
  "csi/src/validation": ["server"],
  "csi/src/wire": ["server"],
  "csi/src/capabilities": ["server"],
  "sidecars/src/csi": [
    "attach",
    "common",
    "group-restore",
    "kube",
    "provision",
    "resize",
    "snapshot-content",
  ],
  "sidecars/src/kube": [
    "attach",
    "group-clone",
    "group-restore",
    "group-snapshot",
    "provision",
    "resize",
    "snapshot",
    "snapshot-content",
    "volume-group",
  ],
  "standalone/src/schema": ["apiserver", "builtin", "controllers", "crd", "kinds", "kubelet", "up"],
  "standalone/src/kinds": ["apiserver", "builtin", "controllers", "crd", "kubelet", "up"],
  "standalone/src/crd": ["apiserver", "builtin", "kubelet", "up"],
  "standalone/src/builtin": ["apiserver", "controllers", "kubelet", "up"],
  "driver/src/request": [
    "controller",
    "group-controller",
    "health",
    "node",
    "objects",
    "snapshot-metadata",
    "volume-group",
  ],
  "driver/src/objects": [
    "controller",
    "group-controller",
    "health",
    "node",
    "snapshot-metadata",
    "volume-group",
  ],
  "driver/src/health": ["controller", "group-controller", "node", "snapshot-metadata", "volume-group"],
  "driver/src/node": ["controller", "group-controller", "snapshot-metadata", "volume-group"],
  "driver/src/controller": ["group-controller", "snapshot-metadata", "volume-group"],
};

/** Folders of a package that do import each other, and why. */
const MUTUAL: Readonly<Record<string, string>> = {
  "sidecars/common kube": "the caches are indexed by what controllers read from objects",
  "sidecars/common secrets": "the names of parameters are in one list",
};

const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*"([^"]+)"/g;

/** Sources that ship: not the tests, nor what only they use. */
async function sources(folder: string): Promise<string[]> {
  const entries = await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts") && !entry.name.endsWith(".test.ts"))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .filter((path) => !/\/(testing|simulation|crash|contract)\//.test(path))
    .sort();
}

async function importsOf(file: string): Promise<string[]> {
  const text = await readFile(join(ROOT, file), "utf8");
  return [...text.matchAll(IMPORT)].map(([, specifier = ""]) => specifier);
}

describe("who may import whom", () => {
  test("packages depend one way", async () => {
    const wrong: string[] = [];
    for (const [name, allowed] of Object.entries(PACKAGES)) {
      const files = await sources(`packages/${name}/src`);
      assert.ok(files.length > 0, `packages/${name} has sources`);
      for (const file of files) {
        for (const specifier of await importsOf(file)) {
          const other = /^@mooring\/([a-z]+)/.exec(specifier)?.[1];
          if (other !== undefined && other !== name && !allowed.includes(other)) {
            wrong.push(`${file} imports ${specifier}`);
          }
        }
      }
    }
    assert.deepEqual(wrong, []);
  });

  test("the rooms of the engine meet only where they are meant to", async () => {
    const wrong: string[] = [];
    for (const [room, forbidden] of Object.entries(ROOMS)) {
      const files = await sources(`packages/engine/src/${room}`);
      assert.ok(files.length > 0, `the engine has the room ${room}`);
      for (const file of files) {
        for (const specifier of await importsOf(file)) {
          if (!specifier.startsWith(".")) continue;
          const target = relative("packages/engine/src", normalize(join(dirname(file), specifier)));
          if (forbidden.includes(target.split("/")[0] ?? "")) wrong.push(`${file} imports ${specifier}`);
        }
      }
    }
    assert.deepEqual(wrong, []);
  });

  test("what stands below others does not import them", async () => {
    const wrong: string[] = [];
    for (const [folder, forbidden] of Object.entries(BELOW)) {
      const top = folder.split("/").slice(0, 2).join("/");
      const files = await sources(`packages/${folder}`);
      assert.ok(files.length > 0, `${folder} has sources`);
      for (const file of files) {
        for (const specifier of await importsOf(file)) {
          if (!specifier.startsWith(".")) continue;
          const target = relative(`packages/${top}`, normalize(join(dirname(file), specifier)));
          if (forbidden.some((name) => target === name || target.startsWith(`${name}/`))) {
            wrong.push(`${file} imports ${specifier}`);
          }
        }
      }
    }
    assert.deepEqual(wrong, []);
  });

  test("no two folders of a package import each other", async () => {
    const unused = new Set(Object.keys(MUTUAL));
    const wrong: string[] = [];
    for (const name of Object.keys(PACKAGES)) {
      const src = `packages/${name}/src`;
      const ways = new Map<string, string>();
      for (const file of await sources(src)) {
        const [from, ...below] = relative(src, file).split("/");
        for (const specifier of await importsOf(file)) {
          if (!specifier.startsWith(".") || below.length === 0) continue;
          const [to, ...rest] = relative(src, normalize(join(dirname(file), specifier))).split("/");
          if (to !== from && rest.length > 0) ways.set(`${from} ${to}`, `${file} imports ${specifier}`);
        }
      }
      for (const [way, example] of ways) {
        const [from = "", to = ""] = way.split(" ");
        const back = ways.get(`${to} ${from}`);
        if (from > to || back === undefined) continue;
        const pair = `${name}/${from} ${to}`;
        if (!unused.delete(pair)) wrong.push(`${example}, and ${back}`);
      }
    }
    assert.deepEqual(wrong, []);
    assert.deepEqual([...unused], [], "pairs that nothing needs");
  });
});
