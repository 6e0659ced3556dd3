// What a release has for a cluster: the chart, and the same objects for kubectl alone.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { parseAllDocuments } from "yaml";
import { makeChart, makeKinds, makeManifests } from "../../scripts/lib/release/cluster-files.mjs";
import { renderChart, renderChartIn, renderManifests } from "../support/chart.ts";

interface Made {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
  spec?: { group: string; names: { kind: string } };
}

let work: string;
before(async () => {
  work = await mkdtemp(join(tmpdir(), "mooring-cluster-files-"));
});
after(() => rm(work, { recursive: true }));

const objectsOf = (text: string) =>
  parseAllDocuments(text).flatMap((document) => (document.toJS() as Made | null) ?? []);
const given = () => ({ work, out: work, version: "0.0.1", epoch: 0 });

test("the chart in a release renders what the one in the repository does", async () => {
  const file: string = await makeChart(given());
  await promisify(execFile)("tar", ["-xzf", file, "-C", work]);
  assert.equal(
    await renderChartIn(join(work, "mooring"), "--include-crds"),
    await renderChart("--include-crds"),
  );
});

test("kubectl takes each file for a cluster in one go: what defines kinds has none of them in it", async () => {
  const read = async (made: Promise<string>) => objectsOf(await readFile(await made, "utf8"));
  const kinds = await read(makeKinds(given()));
  const objects = await read(makeManifests(given()));
  assert.deepEqual([...new Set(kinds.map(({ kind }) => kind))], ["CustomResourceDefinition"]);
  assert.deepEqual(
    objects.filter(({ kind }) => kind === "CustomResourceDefinition"),
    [],
  );
  const [first, ...others] = objects.map(({ kind, metadata: { name } }) => `${kind}/${name}`);
  assert.equal(first, "Namespace/mooring");
  const manifests = [...(await renderManifests()).values()].flatMap(objectsOf);
  assert.deepEqual(others.sort(), manifests.map(({ kind, metadata: { name } }) => `${kind}/${name}`).sort());
  const defined = new Set(kinds.map(({ spec }) => `${spec?.group}/${spec?.names.kind}`));
  const ofOurs = objects.map(({ apiVersion, kind }) => `${apiVersion.split("/")[0]}/${kind}`);
  assert.ok(ofOurs.some((kind) => defined.has(kind)));
});
