// What `mooring` is without a checkout: the bundle, the definitions of its kinds, and the packages that a bundle cannot have in it.
import { existsSync } from "node:fs";
import { cp, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { ROOT } from "./setup.mjs";

/** Packages that the bundle leaves out, as they are native code or read their own files. */
export const PACKAGES = ["lmdb", "koffi", "@marcbachmann/cel-js"];

/** The bundle of this checkout and `deploy`, below `folder`. */
export async function copyProgram(folder) {
  const text = await readFile(join(ROOT, "dist/mooring.mjs"), "utf8");
  const [serving] = /parts\/serving-[A-Z0-9]+\.cjs/.exec(text) ?? [];
  const [thread] =
    /api-server-[A-Z0-9]+\.cjs/.exec(await readFile(join(ROOT, "dist", serving), "utf8")) ?? [];
  await mkdir(join(folder, "dist/parts"), { recursive: true });
  for (const name of ["mooring.mjs", "package.json", "definitions.json", serving, `parts/${thread}`])
    await cp(join(ROOT, "dist", name), join(folder, "dist", name));
  await cp(join(ROOT, "deploy"), join(folder, "deploy"), {
    recursive: true,
    filter: (path) => !/deploy\/(chart|debian)/.test(path),
  });
}

/** The packages of {@link PACKAGES}, with what they need on this kind of machine, below `folder`. */
export async function copyPackages(folder) {
  for (const name of await withDependencies(PACKAGES))
    await cp(join(ROOT, "node_modules", name), join(folder, "node_modules", name), {
      recursive: true,
      dereference: true,
    });
}

/** Installed packages, those that they need, and of the platforms' own ones that of this machine. */
async function withDependencies(names) {
  const all = new Set();
  const add = async (name) => {
    if (all.has(name) || !existsSync(manifestOf(name))) return;
    all.add(name);
    const { dependencies = {}, optionalDependencies = {} } = JSON.parse(
      await readFile(manifestOf(name), "utf8"),
    );
    for (const each of Object.keys({ ...dependencies, ...optionalDependencies })) await add(each);
  };
  for (const name of names) await add(name);
  return [...all].sort();
}

/** The manifest of an installed package. */
export const manifestOf = (name) => join(ROOT, "node_modules", name, "package.json");
