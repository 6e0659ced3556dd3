// What is in a release: every npm package with its version and licence, as CycloneDX, which scanners read.
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "../setup.mjs";

const execute = promisify(execFile);

export async function makeBillOfMaterials({ out, version }) {
  const { stdout } = await execute("npm", ["sbom", "--sbom-format", "cyclonedx", "--omit", "dev"], {
    ...{ cwd: ROOT, maxBuffer: 64 << 20 },
  });
  const { serialNumber: _, ...bill } = JSON.parse(stdout);
  // Neither the moment nor the folder nor the version of npm says anything about what is in it.
  const { timestamp: __, tools: ___, ...metadata } = bill.metadata;
  metadata.component.name = "mooring";
  const file = join(out, `mooring-${version}.cdx.json`);
  await writeFile(file, `${JSON.stringify({ ...bill, metadata }, undefined, 2)}\n`);
  return file;
}
