import assert from "node:assert/strict";
import { test } from "node:test";
import { builtinKinds } from "../../builtin/index.ts";
import type { JsonObject } from "../model.ts";
import { strategicMerge } from "./strategic.ts";

const podSchema = builtinKinds.find((kind) => kind.resource.kind === "Pod")?.schema;
const c = (name: string, more: JsonObject = {}): JsonObject => ({ name, ...more });

const cases: { title: string; current: JsonObject; patch: JsonObject; result: JsonObject }[] = [
  {
    title: "containers are merged by name",
    current: { spec: { containers: [c("a", { image: "1" }), c("b", { image: "1" })] } },
    patch: { spec: { containers: [c("b", { image: "2" })] } },
    result: { spec: { containers: [c("a", { image: "1" }), c("b", { image: "2" })] } },
  },
  {
    title: "a directive deletes an element",
    current: { spec: { containers: [c("a"), c("b")] } },
    patch: { spec: { containers: [{ name: "a", $patch: "delete" }] } },
    result: { spec: { containers: [c("b")] } },
  },
  {
    title: "a directive replaces a list",
    current: { spec: { containers: [c("a"), c("b")] } },
    patch: { spec: { containers: [c("z"), { $patch: "replace" }] } },
    result: { spec: { containers: [c("z")] } },
  },
  {
    title: "lists without a merge key are replaced",
    current: { spec: { tolerations: [{ key: "a" }] } },
    patch: { spec: { tolerations: [{ key: "b" }] } },
    result: { spec: { tolerations: [{ key: "b" }] } },
  },
  {
    title: "null deletes, at any depth, and leaves nothing where nothing was",
    current: { metadata: { labels: { a: "1", b: "2" } } },
    patch: { metadata: { labels: { a: null, z: null }, annotations: null } },
    result: { metadata: { labels: { b: "2" } } },
  },
  {
    title: "finalizers are merged as a set, and taken out by their own directive",
    current: { metadata: { finalizers: ["x/a", "x/b"] } },
    patch: { metadata: { finalizers: ["x/b", "x/c"], "$deleteFromPrimitiveList/finalizers": ["x/a"] } },
    result: { metadata: { finalizers: ["x/b", "x/c"] } },
  },
  {
    title: "element order is what the patch has; the server's own stay where they were",
    current: { spec: { containers: [c("a"), c("mine"), c("b")] } },
    patch: {
      spec: { "$setElementOrder/containers": [c("b"), c("new"), c("a")], containers: [c("new")] },
    },
    result: { spec: { containers: [c("mine"), c("b"), c("new"), c("a")] } },
  },
  {
    title: "a volume's source takes the place of another",
    current: { spec: { volumes: [c("v", { emptyDir: {} })] } },
    patch: { spec: { volumes: [c("v", { $retainKeys: ["name", "hostPath"], hostPath: { path: "/x" } })] } },
    result: { spec: { volumes: [c("v", { hostPath: { path: "/x" } })] } },
  },
  {
    title: "a struct can be replaced as a whole",
    current: { metadata: { labels: { a: "1" } } },
    patch: { metadata: { labels: { $patch: "replace", b: "2" } } },
    result: { metadata: { labels: { b: "2" } } },
  },
];

for (const { title, current, patch, result } of cases) {
  test(`strategic merge: ${title}`, () => {
    const before = structuredClone(current);
    assert.deepEqual(strategicMerge(current, patch, podSchema), result);
    assert.deepEqual(current, before);
  });
}

test("strategic merge: an element without its key is a bad request", () => {
  assert.throws(
    () => strategicMerge({}, { spec: { containers: [{ image: "x" }] } }, podSchema),
    /does not contain declared merge key: name/,
  );
});
