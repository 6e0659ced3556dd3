// What the chart's schema lets through is what the chart has values for, and what the driver takes.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { CsiError } from "@mooring/csi";
import { parse, parseAllDocuments } from "yaml";
import { deadlineSecondsOf } from "../../packages/driver/src/group-controller/parameters.ts";
import { parseParameters } from "../../packages/driver/src/request/parameters.ts";
import { CHART, renderChart } from "../support/chart.ts";

interface Schema {
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: boolean | Schema;
}

const read = (name: string) => readFile(join(CHART, name), "utf8");
const schema: Schema = JSON.parse(await read("values.schema.json"));
const values: Record<string, unknown> = parse(await read("values.yaml"));

/** Names of the parameters in the hint of a refusal. */
function knownTo(refuse: () => unknown): string[] {
  try {
    refuse();
  } catch (error) {
    assert.ok(error instanceof CsiError);
    const [, names = ""] = /Known parameters: (.*)\.$/.exec(error.hint ?? "") ?? [];
    return names.split(", ").sort();
  }
  return assert.fail("every parameter is known");
}

function parametersOf(kind: string): string[] {
  const { properties, additionalProperties } = schema.properties?.[kind]?.items?.properties?.parameters ?? {};
  assert.equal(additionalProperties, false, kind);
  return Object.keys(properties ?? {})
    .filter((name) => !name.startsWith("csi.storage.k8s.io/"))
    .sort();
}

/** Compares the fields of objects that take no others; what Kubernetes has types for is left to it. */
function compare(value: unknown, { properties, additionalProperties }: Schema, path: string): void {
  if (properties === undefined) return;
  assert.equal(additionalProperties, false, path);
  // Helm's own, which every chart has to take.
  const names = Object.keys(properties).filter((name) => path !== "" || name !== "global");
  assert.deepEqual(Object.keys(value as object).sort(), names.sort(), `fields of ${path}`);
  for (const [name, each] of Object.entries(value as object))
    compare(each, properties[name] ?? {}, `${path}.${name}`);
}

test("every value has its default in the file, and no other one is taken", () => {
  compare(values, schema, "");
});

test("classes take each parameter that the driver knows, and no other", () => {
  assert.deepEqual(
    parametersOf("storageClasses"),
    knownTo(() => parseParameters({ unheard: "x" })),
  );
  assert.deepEqual(
    parametersOf("groupSnapshotClasses"),
    knownTo(() => deadlineSecondsOf({ unheard: "x" })),
  );
  assert.deepEqual(parametersOf("snapshotClasses"), []);
});

test("what a class says of thick volumes, of a deadline and of secrets is rendered; what no call takes is refused", async () => {
  const secret = { "csi.storage.k8s.io/snapshotter-secret-name": "kept" };
  const classes = (kind: string, parameters: object) => [
    "--set-json",
    `${kind}=${JSON.stringify([{ name: "chosen", parameters }])}`,
  ];
  const text = await renderChart(
    ...classes("storageClasses", { provisioningType: "thick" }),
    ...classes("snapshotClasses", secret),
    ...classes("groupSnapshotClasses", { deadlineSeconds: "30" }),
  );
  for (const line of [
    /^ {2}provisioningType: thick$/m,
    /^ {2}csi\.storage\.k8s\.io\/snapshotter-secret-name: kept$/m,
    /^ {2}deadlineSeconds: "30"$/m,
  ])
    assert.match(text, line);
  for (const [kind, parameters, what] of [
    ["storageClasses", { provisioningType: "fat" }, /provisioningType/],
    ["snapshotClasses", { unheard: "x" }, /unheard/],
    ["groupSnapshotClasses", { deadlineSeconds: "61" }, /deadlineSeconds/],
  ] as const)
    await assert.rejects(renderChart(...classes(kind, parameters)), (error: Error) => {
      assert.match(error.message, what, kind);
      return true;
    });
});

/** Paths of what is there without a value of the operator's, with those values. */
function leaves(value: unknown, path = ""): [path: string, value: unknown][] {
  if (path.endsWith("resources") || typeof value !== "object" || value === null || Array.isArray(value))
    return [[path, value]];
  const fields = Object.entries(value);
  return fields.length === 0
    ? [[path, value]]
    : fields.flatMap(([name, each]) => leaves(each, path === "" ? name : `${path}.${name}`));
}

const isOptional = ([path, value]: [string, unknown]) =>
  typeof value === "object" || value === "" || path.endsWith("priorityClassName");
const nulls = (paths: string[]) => paths.flatMap((path) => ["--set", `${path}=null`]);

test("a null is nothing where a list or a name may be, and is refused by name where a pod needs the value", async () => {
  const all = leaves(values);
  const text = await renderChart(...nulls(all.filter(isOptional).map(([path]) => path)));
  for (const document of parseAllDocuments(text)) assert.deepEqual(document.errors, []);
  assert.doesNotMatch(text, /^ *null$|: null$/m);
  const needed = all.filter((each) => !isOptional(each)).map(([path]) => path);
  const parts = needed.flatMap((path) => (path.includes(".") ? [path.split(".")[0] ?? ""] : []));
  for (const paths of [needed, [...new Set(parts)]])
    await assert.rejects(renderChart(...nulls(paths)), ({ message }: Error) => {
      for (const path of paths) assert.match(message, new RegExp(`'${path.split(".").at(-1)}'`), path);
      return true;
    });
});
