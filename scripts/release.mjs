#!/usr/bin/env node
// `npm run release [-- --out FOLDER] [--without-image]`: everything that Mooring is installed from, made of this checkout: an npm
// package, a .deb, a chart, manifests, a container image, a bill of materials, and checksums of all. Two runs on one commit and
// one kind of machine write the same bytes.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { parseArgs, promisify } from "node:util";
import { bundle } from "./lib/bundle.mjs";
import { makeBillOfMaterials } from "./lib/release/bill-of-materials.mjs";
import { makeChart, makeKinds, makeManifests } from "./lib/release/cluster-files.mjs";
import { makeDebianPackage } from "./lib/release/debian-package.mjs";
import { makeNpmPackage } from "./lib/release/npm-package.mjs";
import { run } from "./lib/run.mjs";
import { say } from "./lib/say.mjs";
import { checkPackages, ROOT } from "./lib/setup.mjs";

const { values } = parseArgs({
  options: {
    out: { type: "string", default: join(ROOT, "dist", "release") },
    "without-image": { type: "boolean", default: false },
  },
});

/** Everything is of the time of the commit. */
async function commitTime() {
  if (process.env.SOURCE_DATE_EPOCH !== undefined) return Number(process.env.SOURCE_DATE_EPOCH);
  const { stdout } = await promisify(execFile)("git", ["log", "-1", "--format=%ct"], { cwd: ROOT });
  return Number(stdout);
}

async function makeImage({ out, version }) {
  const file = join(out, `mooring-image-${version}.tar`);
  const args = ["--out", file, "--name", `docker.io/library/mooring:${version}`];
  const exit = await run(process.execPath, [join(ROOT, "scripts/image.mjs"), ...args], { quiet: true });
  if (exit !== 0) process.exit(exit);
  return file;
}

async function sumOf(file) {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(file)) hash.update(chunk);
  return `${hash.digest("hex")}  ${basename(file)}\n`;
}

await checkPackages();
await bundle({ force: true });
const { version } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
const out = resolve(values.out);
const work = await mkdtemp(join(tmpdir(), "mooring-release-"));
try {
  await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  const given = { work, out, version, epoch: await commitTime(), image: !values["without-image"] };
  const forClusters = [makeChart, makeKinds, makeManifests];
  const makers = [makeNpmPackage, makeDebianPackage, ...forClusters, makeBillOfMaterials];
  if (given.image) makers.push(makeImage);
  const sums = [];
  for (const make of makers) {
    const file = await make(given);
    sums.push(await sumOf(file));
    say(`${basename(file).padEnd(32)} ${Math.ceil((await stat(file)).size / 1024)} KiB`);
  }
  await writeFile(join(out, "SHA256SUMS"), sums.sort().join(""));
  say(`${out}/SHA256SUMS`);
} finally {
  await rm(work, { recursive: true, force: true });
}
