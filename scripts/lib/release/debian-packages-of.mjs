// Which of Debian's packages files of this machine are of, and under which licences those are.
import { execFile } from "node:child_process";
import { readFile, realpath } from "node:fs/promises";
import { promisify } from "node:util";
import { stop } from "../say.mjs";

const execute = promisify(execFile);

/** The packages of these files, by name: `{ name, version, architecture, licences }`. A file that is of none stops the command. */
export async function debianPackagesOf(files) {
  const owners = new Map();
  const wanted = new Map();
  for (const file of files) wanted.set(file, await pathsOf(file));
  // It fails when one is of no package, and prints the others.
  const asked = await execute("dpkg-query", ["--search", ...[...wanted.values()].flat()], {
    maxBuffer: 64 << 20,
  }).catch((error) => error);
  for (const line of asked.stdout.split("\n")) {
    const [, name, path] = /^([^ :]+(?::[^ :]+)?): (.+)$/.exec(line) ?? [];
    if (name !== undefined) owners.set(path, name);
  }
  const names = new Set();
  for (const [file, paths] of wanted) {
    const owner = paths.map((path) => owners.get(path)).find((name) => name !== undefined);
    if (owner === undefined)
      stop(`${file}, which is part of the image, is of no Debian package.`, `Install it from one.`);
    names.add(owner);
  }
  const fields = ["binary:Package", "Package", "Version", "Architecture"].map((field) => `\${${field}}`);
  const { stdout } = await execute("dpkg-query", [
    "--show",
    `--showformat=${fields.join("\\t")}\\n`,
    ...names,
  ]);
  const packages = stdout.trimEnd().split("\n").sort();
  return Promise.all(
    packages.map(async (line) => {
      const [, name, version, architecture] = line.split("\t");
      return { name, version, architecture, licences: await licencesOf(name) };
    }),
  );
}

/** A package may know its files by where they were before `/lib` became `/usr/lib`, and by what a link leads to. */
async function pathsOf(file) {
  const paths = [file, await realpath(file)];
  return [...new Set(paths.flatMap((path) => [path, path.replace(/^\/usr\//, "/"), `/usr${path}`]))];
}

/** The short names in the copyright file that each package has; older ones only refer to the texts that Debian has in common. */
async function licencesOf(name) {
  const file = `/usr/share/doc/${name}/copyright`;
  const text = await readFile(file, "utf8").catch(() =>
    stop(`Package ${name} has no ${file}.`, `apt-get install --reinstall ${name}`),
  );
  const found = (pattern) =>
    [...new Set([...text.matchAll(pattern)].map(([, licence]) => licence.trim()))].sort();
  const named = found(/^License: *(\S.*)$/gm);
  if (named.length > 0) return named;
  const common = found(/\/usr\/share\/common-licenses\/([\w.+-]*\w)/g);
  return common.length > 0 ? common : [`as in ${file}`];
}
