// `npm install -g mooring-X.Y.Z.tgz`: the bundled command; what it cannot have in it npm installs beside it.
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { copyProgram, manifestOf, PACKAGES } from "../program-folder.mjs";
import { ROOT } from "../setup.mjs";
import { packFolder } from "./pack.mjs";

export async function makeNpmPackage({ work, out, version, epoch }) {
  const folder = join(work, "package");
  await mkdir(folder, { recursive: true });
  await copyProgram(folder);
  for (const name of ["README.md", "LICENSE", "CHANGELOG.md"])
    await copyFile(join(ROOT, name), join(folder, name));
  await writeFile(join(folder, "package.json"), `${JSON.stringify(await manifest(version), undefined, 2)}\n`);
  await mkdir(join(folder, "bin"));
  await writeFile(join(folder, "bin/mooring.mjs"), '#!/usr/bin/env node\nimport "../dist/mooring.mjs";\n', {
    mode: 0o755,
  });
  const file = join(out, `mooring-${version}.tgz`);
  await packFolder({ parent: work, folder: "package", file, epoch });
  return file;
}

async function manifest(version) {
  const { description, license, engines } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
  const versions = PACKAGES.map(async (name) => {
    return [name, JSON.parse(await readFile(manifestOf(name), "utf8")).version];
  });
  return {
    ...{ name: "mooring", version, description, license, engines },
    ...{ type: "module", os: ["linux"], bin: { mooring: "bin/mooring.mjs" } },
    // Those that the tests have run with, and no others.
    dependencies: Object.fromEntries(await Promise.all(versions)),
  };
}
