import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Namespace } from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { parse } from "yaml";
import { startTestServer, type TestServer } from "../testing/test-server.ts";

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
let server: TestServer;
before(async () => {
  server = await startTestServer({ history: { events: 200 } });
});
after(() => server.stop());

const configMap = (name: string, data: Record<string, string> = {}, metadata: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ...metadata },
  data,
});

test("a write with an old resourceVersion is a Conflict whose message names what to do", async () => {
  const { http } = server;
  const created = await http.post(CONFIG_MAPS, configMap("conflict"));
  assert.equal(created.status, 201);
  const updated = await http.put(`${CONFIG_MAPS}/conflict`, { ...created.json, data: { a: "1" } });
  assert.equal(updated.status, 200);
  const refused = await http.put(`${CONFIG_MAPS}/conflict`, { ...created.json, data: { a: "2" } });
  assert.equal(refused.status, 409);
  assert.equal(refused.json.reason, "Conflict");
  assert.match(
    refused.json.message,
    /Operation cannot be fulfilled on configmaps "conflict": the object has been modified/,
  );
  assert.deepEqual(refused.json.details, { name: "conflict", kind: "configmaps" });
  const forced = await http.put(`${CONFIG_MAPS}/conflict`, configMap("conflict", { a: "3" }));
  assert.equal(forced.status, 200, "without a resourceVersion the last writer wins");
});

test("a dry run returns what the write would and changes nothing", async () => {
  const { http } = server;
  const created = await http.post(`${CONFIG_MAPS}?dryRun=All`, configMap("dry"));
  assert.equal(created.status, 201);
  assert.ok(created.json.metadata.uid);
  assert.equal((await http.get(`${CONFIG_MAPS}/dry`)).status, 404);
  await http.post(CONFIG_MAPS, configMap("dry"));
  assert.equal((await http.delete(`${CONFIG_MAPS}/dry?dryRun=All`)).status, 200);
  assert.equal((await http.delete(`${CONFIG_MAPS}/dry`, { dryRun: ["All"] })).status, 200);
  assert.equal((await http.get(`${CONFIG_MAPS}/dry`)).status, 200);
  const wrong = await http.post(`${CONFIG_MAPS}?dryRun=Some`, configMap("dry2"));
  assert.equal(wrong.status, 422);
  assert.match(wrong.json.message, /dryRun: Unsupported value: "Some"/);
});

test("preconditions guard a delete", async () => {
  const { http } = server;
  const { json } = await http.post(CONFIG_MAPS, configMap("guarded"));
  const other = await http.delete(`${CONFIG_MAPS}/guarded`, { preconditions: { uid: "other" } });
  assert.equal(other.status, 409);
  assert.match(other.json.message, /Precondition failed: UID in precondition: other/);
  const old = await http.delete(`${CONFIG_MAPS}/guarded`, { preconditions: { resourceVersion: "1" } });
  assert.equal(old.status, 409);
  const { uid, resourceVersion } = json.metadata;
  const gone = await http.delete(`${CONFIG_MAPS}/guarded`, { preconditions: { uid, resourceVersion } });
  assert.equal(gone.status, 200);
  assert.deepEqual(gone.json.details, { name: "guarded", kind: "configmaps", uid });
  assert.equal(gone.json.status, "Success");
});

test("pages are pictures of one revision", async () => {
  const { http } = server;
  const labels = { pages: "yes" };
  for (let i = 0; i < 7; i++) await http.post(CONFIG_MAPS, configMap(`page-${i}`, {}, { labels }));
  const first = await http.get(`${CONFIG_MAPS}?limit=3&labelSelector=pages%3Dyes`);
  assert.equal(first.json.items.length, 3);
  await http.delete(`${CONFIG_MAPS}/page-4`);
  await http.post(CONFIG_MAPS, configMap("page-9", {}, { labels }));
  const names: string[] = first.json.items.map((item: { metadata: { name: string } }) => item.metadata.name);
  let next: string = first.json.metadata.continue;
  while (next) {
    const page = await http.get(
      `${CONFIG_MAPS}?limit=3&labelSelector=pages%3Dyes&continue=${encodeURIComponent(next)}`,
    );
    assert.equal(page.json.metadata.resourceVersion, first.json.metadata.resourceVersion);
    names.push(...page.json.items.map((item: { metadata: { name: string } }) => item.metadata.name));
    next = page.json.metadata.continue;
  }
  assert.deepEqual(
    names,
    [0, 1, 2, 3, 4, 5, 6].map((i) => `page-${i}`),
  );
  const broken = await http.get(`${CONFIG_MAPS}?limit=3&continue=nonsense`);
  assert.equal(broken.status, 400);
});

test("a watch from a version delivers everything after it, in order, and nothing else", async () => {
  const { http } = server;
  const { json: start } = await http.post(CONFIG_MAPS, configMap("watched", { n: "0" }));
  const from = start.metadata.resourceVersion;
  for (const n of ["1", "2"]) await http.patch(`${CONFIG_MAPS}/watched`, "merge-patch+json", { data: { n } });
  await http.delete(`${CONFIG_MAPS}/watched`);
  const seen: string[] = [];
  const path = `${CONFIG_MAPS}?watch=1&resourceVersion=${from}&fieldSelector=metadata.name%3Dwatched&timeoutSeconds=20`;
  for await (const { type, object } of http.watch(path)) {
    seen.push(`${type} ${object.data?.["n"]}`);
    if (type === "DELETED") break;
  }
  assert.deepEqual(seen, ["MODIFIED 1", "MODIFIED 2", "DELETED 2"]);
});

test("an object that leaves a selector is DELETED to its watchers, and ADDED when it comes back", async () => {
  const { http } = server;
  const { json: list } = await http.get(CONFIG_MAPS);
  const path = `${CONFIG_MAPS}?watch=1&labelSelector=tier%3Da&resourceVersion=${list.metadata.resourceVersion}`;
  await http.post(CONFIG_MAPS, configMap("moving", {}, { labels: { tier: "a" } }));
  for (const tier of ["b", "a"]) {
    await http.patch(`${CONFIG_MAPS}/moving`, "merge-patch+json", { metadata: { labels: { tier } } });
  }
  const seen: string[] = [];
  for await (const { type } of http.watch(path)) if (seen.push(type) === 3) break;
  assert.deepEqual(seen, ["ADDED", "DELETED", "ADDED"]);
});

test("a watch from a forgotten version gets an ERROR event with 410", async () => {
  const { http } = server;
  const { json: list } = await http.get(CONFIG_MAPS);
  const old = list.metadata.resourceVersion;
  await http.post(CONFIG_MAPS, configMap("busy"));
  for (let n = 0; n < 260; n++) {
    await http.patch(`${CONFIG_MAPS}/busy`, "merge-patch+json", { data: { n: String(n) } });
  }
  for await (const { type, object } of http.watch(`${CONFIG_MAPS}?watch=1&resourceVersion=${old}`)) {
    assert.equal(type, "ERROR");
    assert.equal(object.code, 410);
    assert.equal(object.reason, "Expired");
    break;
  }
  const exact = await http.get(`${CONFIG_MAPS}?resourceVersion=${old}&resourceVersionMatch=Exact`);
  assert.equal(exact.status, 410);
});

test("sendInitialEvents streams what is there and sends a bookmark when it is through", async () => {
  const { http } = server;
  const query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
  const seen: string[] = [];
  for await (const { type, object } of http.watch(`/api/v1/namespaces?${query}`)) {
    if (type === "BOOKMARK") {
      assert.equal(object.metadata.annotations?.["k8s.io/initial-events-end"], "true");
      assert.equal(object.kind, "Namespace");
      break;
    }
    seen.push(object.metadata.name);
  }
  assert.deepEqual(seen, ["default", "kube-node-lease", "kube-public", "kube-system"]);
  const refused = await http.get("/api/v1/namespaces?watch=1&sendInitialEvents=true");
  assert.equal(refused.status, 422);
});

test("timeoutSeconds ends a watch properly", async () => {
  const started = performance.now();
  for await (const _ of server.http.watch(
    `${CONFIG_MAPS}?watch=1&resourceVersion=&timeoutSeconds=1&labelSelector=none%3Dnone`,
  )) {
    assert.fail("nothing matches");
  }
  assert.ok(performance.now() - started >= 990);
});

interface Table {
  kind: string;
  columnDefinitions: unknown;
  rows: { cells: unknown[]; object: { kind: string } }[];
}

test("lists and single objects come as tables and as metadata only", async () => {
  const { http } = server;
  await http.post(CONFIG_MAPS, configMap("shaped", { a: "1", b: "2" }));
  const as = (shape: string) => ({
    accept: `application/json;as=${shape};v=v1;g=meta.k8s.io,application/json`,
  });
  const table = await http.get<Table>(`${CONFIG_MAPS}/shaped`, as("Table"));
  assert.equal(table.json.kind, "Table");
  assert.deepEqual(table.json.rows[0]?.cells.slice(0, 2), ["shaped", 2]);
  assert.equal(table.json.rows[0]?.object.kind, "PartialObjectMetadata");
  const full = await http.get<Table>(`${CONFIG_MAPS}?includeObject=Object`, as("Table"));
  assert.ok(full.json.rows.some(({ object }) => object.kind === "ConfigMap"));
  const partial = await http.get(`${CONFIG_MAPS}/shaped`, as("PartialObjectMetadata"));
  assert.equal(partial.json.kind, "PartialObjectMetadata");
  assert.equal(partial.json.data, undefined);
  const partials = await http.get(CONFIG_MAPS, as("PartialObjectMetadataList"));
  assert.equal(partials.json.kind, "PartialObjectMetadataList");
  let columns: unknown;
  for await (const { object } of http.watch<Table>(
    `${CONFIG_MAPS}?watch=1&fieldSelector=metadata.name%3Dshaped`,
    as("Table"),
  )) {
    columns = object.columnDefinitions;
    assert.equal(object.rows.length, 1);
    break;
  }
  assert.ok(Array.isArray(columns));
});

test("bodies that fit nowhere are refused with the reason", async () => {
  const { http } = server;
  const bad = async (
    body: unknown,
    status: number,
    message: RegExp,
    headers: Record<string, string> = {},
  ) => {
    const response = await http.post(CONFIG_MAPS, body, headers);
    assert.equal(response.status, status, response.text);
    assert.equal(response.json.kind, "Status");
    assert.match(response.json.message, message);
  };
  await bad("{", 400, /couldn't parse JSON/);
  await bad("", 400, /empty request body/);
  await bad("[1]", 400, /not an object/);
  await bad("a: [", 400, /yaml/, { "content-type": "application/yaml" });
  await bad("x", 415, /unknown format/, { "content-type": "text/plain" });
  await bad(
    { apiVersion: "v1", kind: "Secret", metadata: { name: "a" } },
    400,
    /Secret in version "v1" cannot be handled as a ConfigMap/,
  );
  await bad(
    { apiVersion: "v2", kind: "ConfigMap", metadata: { name: "a" } },
    400,
    /does not match the expected API version/,
  );
  await bad(
    configMap("a", {}, { namespace: "kube-system" }),
    400,
    /namespace of the provided object does not match/,
  );
  await bad(configMap("a", {}, { labels: { a: 1 } }), 400, /metadata.labels/);
  await bad(configMap(""), 422, /name or generateName is required/);
  await bad(configMap("../x"), 422, /invalid/);
  await bad(`{"a":${"[".repeat(5000)}${"]".repeat(5000)}}`, 400, /nested too deeply/);
  const huge = configMap("huge", { a: "x".repeat(3 * 1024 * 1024) });
  await bad(huge, 413, /Request entity too large: limit is 3145728/);
  const yaml = await http.post(
    CONFIG_MAPS,
    "kind: ConfigMap\napiVersion: v1\nmetadata:\n  name: from-yaml\n",
    {
      "content-type": "application/yaml",
    },
  );
  assert.equal(yaml.status, 201);
  const renamed = await http.put(`${CONFIG_MAPS}/from-yaml`, configMap("other"));
  assert.equal(renamed.status, 400);
  assert.match(
    renamed.json.message,
    /the name of the object \(other\) does not match the name on the URL \(from-yaml\)/,
  );
});

test("field validation ignores, warns or refuses", async () => {
  const { http } = server;
  const body =
    '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"strict"},"data":{"a":"1"},"data":{"a":"2"},"spec":{}}';
  const strict = await http.post(`${CONFIG_MAPS}?fieldValidation=Strict&dryRun=All`, body);
  assert.equal(strict.status, 400);
  assert.match(strict.json.message, /strict decoding error: duplicate field "data", unknown field "spec"/);
  const warned = await http.post(`${CONFIG_MAPS}?dryRun=All`, body);
  assert.equal(warned.status, 201);
  assert.equal(
    warned.headers.warning,
    '299 - "duplicate field \\"data\\"", 299 - "unknown field \\"spec\\""',
  );
  const ignored = await http.post(`${CONFIG_MAPS}?dryRun=All&fieldValidation=Ignore`, body);
  assert.equal(ignored.headers.warning, undefined);
  const patched = await http.patch(`${CONFIG_MAPS}/page-0?fieldValidation=Strict`, "merge-patch+json", {
    dta: { a: "1" },
  });
  assert.equal(patched.status, 400);
  const operations = [{ op: "add", path: "/dta", value: { a: "1" } }];
  const json = await http.patch(
    `${CONFIG_MAPS}/page-0?fieldValidation=Strict`,
    "json-patch+json",
    operations,
  );
  assert.match(json.json.message, /unknown field "dta"/);
});

test("a namespace must be there, and stay, for anything to be created in it", async () => {
  const { http } = server;
  const missing = await http.post("/api/v1/namespaces/nowhere/configmaps", configMap("a"));
  assert.equal(missing.status, 404);
  assert.equal(missing.json.message, 'namespaces "nowhere" not found');
  await http.post("/api/v1/namespaces", { metadata: { name: "leaving" } });
  await http.post(
    "/api/v1/namespaces/leaving/configmaps",
    configMap("kept", {}, { finalizers: ["example.com/keep"] }),
  );
  const deleted = await http.delete<Namespace>("/api/v1/namespaces/leaving");
  assert.equal(deleted.json.status?.phase, "Terminating");
  const late = await http.post("/api/v1/namespaces/leaving/configmaps", configMap("late"));
  assert.equal(late.status, 403);
  assert.equal(late.json.details.causes?.[0]?.reason, "NamespaceTerminating");
  await eventually("the namespace reports what keeps it", async () => {
    const { json } = await http.get<Namespace>("/api/v1/namespaces/leaving");
    return json.status?.conditions?.some(({ message }) =>
      message?.includes("example.com/keep in 1 resource"),
    );
  });
  await http.patch("/api/v1/namespaces/leaving/configmaps/kept", "merge-patch+json", {
    metadata: { finalizers: null },
  });
  await eventually(
    "the namespace is gone",
    async () => (await http.get("/api/v1/namespaces/leaving")).status === 404,
  );
  const immortal = await http.delete("/api/v1/namespaces/default");
  assert.equal(immortal.status, 403);
});

test("anonymous callers see health and version only; a wrong token is Unauthorized", async () => {
  const { http } = server;
  for (const path of ["/healthz", "/livez", "/readyz?verbose", "/version"]) {
    assert.equal((await http.send(path, { token: null })).status, 200);
  }
  const forbidden = await http.send(CONFIG_MAPS, { token: null });
  assert.equal(forbidden.status, 403);
  assert.match(
    forbidden.json.message,
    /User "system:anonymous" cannot list resource "configmaps" in API group "" in the namespace "default"/,
  );
  assert.equal((await http.send("/version", { token: "wrong" })).status, 401);
});

test("what is not served is NotFound, what makes no sense is MethodNotAllowed", async () => {
  const { http } = server;
  for (const path of [
    "/api/v1/nothing",
    "/apis/none.example.com/v1/things",
    "/apis/none.example.com",
    "/nope",
    "/api/v2",
    "/api/v1/namespaces/default/nodes",
    "/api/v1/configmaps/named",
  ]) {
    const response = await http.get(path);
    assert.equal(response.status, 404, path);
    assert.equal(response.json.message, "the server could not find the requested resource");
  }
  assert.equal((await http.post(`${CONFIG_MAPS}/x`, {})).status, 405);
  assert.equal((await http.put(CONFIG_MAPS, {})).status, 405);
  assert.equal((await http.get("/api/v1/namespaces/%zz")).status, 400);
  const protobuf = await http.get(CONFIG_MAPS, { accept: "application/vnd.kubernetes.protobuf" });
  assert.equal(protobuf.status, 406);
});

test("deletecollection deletes what the selectors match", async () => {
  const { http } = server;
  for (const name of ["many-a", "many-b"])
    await http.post(CONFIG_MAPS, configMap(name, {}, { labels: { many: "1" } }));
  const response = await http.delete(`${CONFIG_MAPS}?labelSelector=many%3D1`);
  assert.equal(response.json.items.length, 2);
  assert.equal((await http.get(`${CONFIG_MAPS}?labelSelector=many%3D1`)).json.items.length, 0);
  assert.equal((await http.get(`${CONFIG_MAPS}/page-0`)).status, 200);
});

test("deletecollection deletes of what the selectors match only what the client's preconditions name", async () => {
  const { http } = server;
  const [kept, meant] = await Promise.all(
    ["one-a", "one-b"].map((name) => http.post(CONFIG_MAPS, configMap(name, {}, { labels: { one: "1" } }))),
  );
  const preconditions = { uid: meant?.json.metadata.uid };
  const response = await http.delete(`${CONFIG_MAPS}?labelSelector=one%3D1`, { preconditions });
  assert.equal(response.status, 409);
  const left = (await http.get(`${CONFIG_MAPS}?labelSelector=one%3D1`)).json.items;
  assert.ok(left.some(({ metadata }) => metadata.uid === kept?.json.metadata.uid));
});

test("finalize takes the finalizers away that the body does not have", async () => {
  const { http } = server;
  const { json } = await http.post<Namespace>("/api/v1/namespaces", { metadata: { name: "finalized" } });
  assert.deepEqual(json.spec?.finalizers, ["kubernetes"]);
  const path = "/api/v1/namespaces/finalized/finalize";
  assert.equal((await http.put(path, { ...json, spec: {} })).status, 200);
  const { spec } = (await http.get<Namespace>("/api/v1/namespaces/finalized")).json;
  assert.deepEqual(spec?.finalizers ?? [], []);
});

test("metadata that is null is empty metadata", async () => {
  const body = { apiVersion: "v1", kind: "ConfigMap", metadata: null };
  const { status, json } = await server.http.post(CONFIG_MAPS, body);
  assert.deepEqual(
    [status, json.message],
    [422, 'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required'],
  );
});

test("a list is the same as YAML and as JSON, in pages as well, and where there is nothing", async () => {
  const path = "/api/v1/namespaces/default/secrets";
  for (const name of ["yaml-a", "yaml-b", "yaml-c"])
    assert.equal(
      (await server.http.post(path, { metadata: { name }, stringData: { a: "x\n\n  y: z\n" } })).status,
      201,
    );
  for (const query of ["", "?limit=2", "?labelSelector=none"]) {
    const json = await server.http.get(`${path}${query}`);
    const yaml = await server.http.get(`${path}${query}`, { accept: "application/yaml" });
    assert.equal(yaml.headers["content-type"], "application/yaml");
    assert.deepEqual(parse(yaml.text), json.json, query);
  }
});
