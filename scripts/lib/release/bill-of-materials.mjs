// What is in a release, as CycloneDX, which scanners read: every npm package, and with the image every Debian package that it has
// files of, each with its version and its licences.
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { filesOfImage } from "../image/root.mjs";
import { ROOT } from "../setup.mjs";
import { debianPackagesOf } from "./debian-packages-of.mjs";

const execute = promisify(execFile);

/** With `--omit dev` npm leaves out what runs and is wanted by a development tool as well. */
const isInstalled = ({ properties = [] }) =>
  !properties.some(({ name }) => name === "cdx:npm:package:development");

/** `image`: an image is part of the release. */
export async function makeBillOfMaterials({ out, version, image }) {
  const { stdout } = await execute("npm", ["sbom", "--sbom-format", "cyclonedx"], {
    ...{ cwd: ROOT, maxBuffer: 64 << 20 },
  });
  const { serialNumber: _, dependencies, ...bill } = JSON.parse(stdout);
  // Neither the moment nor the folder nor the version of npm says anything about what is in it.
  const { timestamp: __, tools: ___, ...metadata } = bill.metadata;
  metadata.component.name = "mooring";
  const npm = bill.components.filter(isInstalled);
  const there = new Set([metadata.component, ...npm].map((each) => each["bom-ref"]));
  const needs = dependencies
    .filter(({ ref }) => there.has(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((each) => there.has(each)) }));
  const components = [...npm, ...(image ? await partsOfImage() : [])];
  const made = { ...bill, metadata, components, dependencies: needs };
  const file = join(out, `mooring-${version}.cdx.json`);
  await writeFile(file, `${JSON.stringify(made, undefined, 2)}\n`);
  return file;
}

async function partsOfImage() {
  const { named, libraries, perl, more } = await filesOfImage();
  const packages = await debianPackagesOf([...named.map(([, from]) => from), ...libraries, ...perl, ...more]);
  return packages.map(({ name, version, architecture, licences }) => {
    const purl = `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture}`;
    return {
      ...{ "bom-ref": purl, type: "library", name, version, purl, scope: "required" },
      licenses: licences.map((licence) => ({ license: { name: licence } })),
    };
  });
}
