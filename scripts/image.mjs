#!/usr/bin/env node
// `node scripts/image.mjs [--out FILE] [--name NAME:TAG]`: a container image of Mooring as an OCI archive, made of this
// machine's Debian without a registry, a daemon or a download. `ctr images import FILE` and `podman load -i FILE` take it.
// `--with-ceph` adds what pools in Ceph clusters need: rbd, ceph, and the loader of the kernel's modules.
// `--root FOLDER` writes what is in it to a new folder instead, for a user who builds the image by deploy/Containerfile.
import { copyFile, mkdir, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { bundle } from "./lib/bundle.mjs";
import { writeArchive } from "./lib/image/archive.mjs";
import { fillRoot } from "./lib/image/root.mjs";
import { say, stop } from "./lib/say.mjs";
import { ROOT } from "./lib/setup.mjs";

const { values } = parseArgs({
  options: {
    out: { type: "string", default: join(ROOT, "dist", "mooring-image.tar") },
    name: { type: "string", default: "docker.io/library/mooring:0.1.0" },
    root: { type: "string" },
    "with-ceph": { type: "boolean", default: false },
  },
});
const parts = { ceph: values["with-ceph"] };
await bundle();
if (values.root !== undefined) {
  await mkdir(values.root, { recursive: true });
  if ((await readdir(values.root)).length > 0)
    stop(`${values.root} is not empty.`, "Name a new folder, or remove what is in it.");
  await fillRoot(values.root, parts);
  say(`the root of the image: ${values.root}`);
  process.exit(0);
}
const work = await mkdtemp(join(tmpdir(), "mooring-image-"));
try {
  const root = join(work, "root");
  await mkdir(root);
  await fillRoot(root, parts);
  const made = join(work, "image.tar");
  await writeArchive({ root, work, name: values.name, file: made });
  await mkdir(dirname(values.out), { recursive: true });
  await copyFile(made, values.out);
  const { size } = await stat(values.out);
  say(`${values.name}: ${values.out}, ${Math.round(size / 2 ** 20)} MiB`);
} finally {
  await rm(work, { recursive: true, force: true });
}
