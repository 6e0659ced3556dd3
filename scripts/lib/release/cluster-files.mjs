// For a cluster: the chart, and the same objects as one file for a user who has kubectl alone.
import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CHART, MANIFESTS } from "../manifests.mjs";
import { ROOT } from "../setup.mjs";
import { packFolder } from "./pack.mjs";

/** `helm install mooring mooring-chart-X.Y.Z.tgz`. */
export async function makeChart({ work, out, version, epoch }) {
  // In the repository some of its folders are links, which an archive must not have.
  await cp(CHART, join(work, "mooring"), { recursive: true, dereference: true });
  const file = join(out, `mooring-chart-${version}.tgz`);
  await packFolder({ parent: work, folder: "mooring", file, epoch });
  return file;
}

/**
 * `kubectl apply --server-side -f mooring-kinds-X.Y.Z.yaml`: a file of its own, since kubectl asks for the kind of each object of a file
 * before it applies the first.
 */
export async function makeKinds({ out, version }) {
  return writeTexts(join(out, `mooring-kinds-${version}.yaml`), await textsOf(join(ROOT, "deploy", "crds")));
}

/** Then `kubectl apply --server-side -f mooring-X.Y.Z.yaml`. */
export async function makeManifests({ out, version }) {
  const namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: mooring}\n";
  return writeTexts(join(out, `mooring-${version}.yaml`), [namespace, ...(await textsOf(MANIFESTS))]);
}

async function textsOf(folder) {
  const names = (await readdir(folder)).sort();
  return Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
}

async function writeTexts(file, texts) {
  await writeFile(file, `${texts.map((text) => text.trimEnd()).join("\n---\n")}\n`);
  return file;
}
