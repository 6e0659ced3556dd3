import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { howMany } from "@mooring/store/testing";
import fc from "fast-check";
import { startTestServer, type TestServer } from "./testing/test-server.ts";

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

const PATHS = [
  "/api/v1/namespaces/default/configmaps",
  "/api/v1/namespaces/default/secrets",
  "/api/v1/namespaces/default/pods",
  "/api/v1/namespaces/default/persistentvolumeclaims",
  "/api/v1/namespaces/default/services",
  "/api/v1/namespaces/default/events",
  "/api/v1/persistentvolumes",
  "/api/v1/nodes",
  "/api/v1/namespaces",
  "/apis/events.k8s.io/v1/namespaces/default/events",
  "/apis/storage.k8s.io/v1/storageclasses",
  "/apis/storage.k8s.io/v1/volumeattachments",
  "/apis/storage.k8s.io/v1/csinodes",
  "/apis/coordination.k8s.io/v1/namespaces/default/leases",
  "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
  "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
  "/apis/authentication.k8s.io/v1/tokenreviews",
];
const KEYS = [
  "metadata",
  "spec",
  "status",
  "name",
  "namespace",
  "labels",
  "annotations",
  "finalizers",
  "ownerReferences",
  "uid",
  "resourceVersion",
  "managedFields",
  "data",
  "containers",
  "volumes",
  "image",
  "env",
  "resources",
  "requests",
  "storage",
  "accessModes",
  "capacity",
  "csi",
  "driver",
  "drivers",
  "provisioner",
  "parameters",
  "ports",
  "port",
  "involvedObject",
  "regarding",
  "note",
  "group",
  "names",
  "plural",
  "kind",
  "versions",
  "schema",
  "openAPIV3Schema",
  "properties",
  "finalizers",
  "replicas",
  "__proto__",
  "constructor",
  "$patch",
  "apiVersion",
  "type",
  "target",
  "token",
  "",
  "a/b",
];
const leaf = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    0,
    -1,
    1.5,
    1e300,
    "",
    "x",
    "default",
    "1Gi",
    "-5",
    "é\u0000",
    "a".repeat(300),
  ),
  fc.string({ maxLength: 8 }),
);
const value: fc.Arbitrary<unknown> = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 6, depthSize: "large" },
    leaf,
    fc.array(tie("any"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...KEYS), tie("any"), { maxKeys: 5 }),
  ),
})).any;
const object = fc
  .record({ spec: value, data: value, status: value, provisioner: leaf }, { requiredKeys: [] })
  .chain((rest) =>
    fc
      .record({ name: fc.constantFrom<unknown>("fuzz", "fuzz", "fuzz-2", "", 5, "../up"), extra: value })
      .map(({ name, extra }) => {
        const more = typeof extra === "object" && extra !== null && !Array.isArray(extra) ? extra : {};
        return { ...rest, metadata: { ...more, name } };
      }),
  );
const PATCHES = ["merge-patch+json", "json-patch+json", "strategic-merge-patch+json", "apply-patch+yaml"];
const operation = fc.record({
  op: fc.constantFrom("add", "remove", "replace", "move", "copy", "test", "nonsense"),
  path: fc.constantFrom(
    "/metadata/labels",
    "/spec",
    "/data/x",
    "",
    "/",
    "/spec/containers/-",
    "/metadata",
    "/__proto__/x",
    "x",
  ),
  from: fc.constantFrom("/metadata", "/spec", ""),
  value,
});
const QUERIES = [
  "",
  "?dryRun=All",
  "?fieldValidation=Strict",
  "?force=true&fieldManager=f",
  "?fieldManager=f",
  "?limit=-1",
  "?limit=x",
  "?continue=%00",
  "?labelSelector=%3D%3D",
  "?labelSelector=a%20in%20(",
  "?fieldSelector=a.b%3D1",
  "?resourceVersion=x",
  "?resourceVersion=999999999",
  "?resourceVersionMatch=Exact",
  "?propagationPolicy=Nope",
  "?gracePeriodSeconds=x",
  "?timeoutSeconds=-5&watch=1",
  "?timeoutSeconds=1&watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
];
const request = fc.oneof(
  fc.record({
    method: fc.constantFrom("POST"),
    suffix: fc.constant(""),
    body: fc.oneof(object, value),
    type: fc.constant("json"),
  }),
  fc.record({
    method: fc.constantFrom("PUT", "DELETE"),
    suffix: fc.constantFrom(
      "/fuzz",
      "/fuzz/status",
      "/fuzz/scale",
      "/fuzz/log",
      "/fuzz/finalize",
      "/fuzz/binding",
      "/%2e%2e",
      "",
    ),
    body: fc.oneof(object, value),
    type: fc.constantFrom("json", "yaml"),
  }),
  fc.record({
    method: fc.constant("PATCH"),
    suffix: fc.constantFrom("/fuzz", "/fuzz", "/fuzz/status"),
    body: fc.oneof(object, value, fc.array(operation, { maxLength: 3 })),
    type: fc.constantFrom(...PATCHES),
  }),
  fc.record({
    method: fc.constant("GET"),
    suffix: fc.constantFrom("", "/fuzz", "/fuzz/log"),
    body: fc.constant(undefined),
    type: fc.constant("json"),
  }),
);

test("no request gets an internal error, and every refusal is a Status", async () => {
  const runs = howMany({ everyday: 150, full: 1_500, deep: 50_000 });
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...PATHS),
      fc.constantFrom(...QUERIES),
      request,
      async (path, query, each) => {
        const { method, suffix, body, type } = each;
        const response = await server.http.send(`${path}${suffix}${query}`, {
          method,
          ...(body === undefined
            ? {}
            : { body: JSON.stringify(body), headers: { "content-type": `application/${type}` } }),
        });
        const shown = `${method} ${path}${suffix}${query} -> ${response.status} ${response.text.slice(0, 300)}`;
        assert.ok(response.status < 500 || response.json?.reason === "Timeout", shown);
        if (response.status >= 400) assert.equal(response.json?.kind, "Status", shown);
      },
    ),
    { numRuns: runs, endOnFailure: true },
  );
  assert.equal((await server.http.get("/readyz")).text, "ok");
});

test("an object that is nested as deeply as it may be is returned as YAML, too", async () => {
  const deep = `${'{"a":'.repeat(980)}{}${"}".repeat(980)}`;
  const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  const kind = '"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview"';
  const response = await server.http.send(path, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/yaml" },
    body: `{${kind},"spec":{"nonResourceAttributes":{"path":"/"},"x":${deep}}}`,
  });
  assert.equal(response.status, 201, response.text.slice(0, 300));
  assert.equal(response.headers["content-type"], "application/yaml");
});
