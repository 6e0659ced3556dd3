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

/** `kubectl apply --server-side -f mooring-X.Y.Z.yaml`: the definitions come first. */
export async function makeManifests({ out, version }) {
  const texts = [];
  for (const folder of [join(ROOT, "deploy", "crds"), MANIFESTS])
    for (const name of (await readdir(folder)).sort()) texts.push(await readFile(join(folder, name), "utf8"));
  const namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: mooring}\n";
  const file = join(out, `mooring-${version}.yaml`);
  await writeFile(file, [namespace, ...texts.map((text) => text.trimEnd())].join("\n---\n").concat("\n"));
  return file;
}
