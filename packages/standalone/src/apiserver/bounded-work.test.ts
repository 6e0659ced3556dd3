import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:https";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "node:tls";
import { eventually, thorough } from "@mooring/store/testing";
import { longestTurn } from "./testing/longest-turn.ts";
import { startTestServer, type TestServer } from "./testing/test-server.ts";
import { threadMs } from "./testing/thread-cost.ts";

let server: TestServer;
before(async () => {
  server = await startTestServer({ thread: false });
  const rbac = { apiGroup: "rbac.authorization.k8s.io" };
  const bound = await server.http.post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: "untrusted" },
    subjects: [{ ...rbac, kind: "User", name: "untrusted" }],
    roleRef: { ...rbac, kind: "ClusterRole", name: "cluster-admin" },
  });
  assert.equal(bound.status, 201);
});
after(() => server.stop());

const MAPS = "/api/v1/namespaces/default/configmaps?dryRun=All";
/** Of processor time in one turn of the event loop that server and client share: a busy machine does not change it. */
const MOST_MS = 50;
/** How long a client may send its headers. */
const HEADERS_MS = 10_000;

const measured = <T>(work: () => Promise<T>) => longestTurn(work, MOST_MS);

async function bounded(
  what: string,
  type: string,
  body: string,
  { method = "POST", path = MAPS }: { method?: string; path?: string } = {},
): Promise<number> {
  // Not the administrator, whose own bodies are their own affair.
  const headers = { "content-type": type, "impersonate-user": "untrusted" };
  const { response, ms } = await measured(() => server.http.send(path, { method, headers, body }));
  assert.notEqual(response.status, 500, `${what}: ${response.text.slice(0, 300)}`);
  if (process.env.MOORING_SHOW !== undefined)
    console.log(what, ms.toFixed(1), response.status, response.text.slice(0, 150));
  assert.ok(ms < MOST_MS, `${what} takes ${ms.toFixed(0)} ms in one turn`);
  return response.status;
}

test("no body blocks the server", async () => {
  const json = "application/json";
  const same = `${'{"a":'.repeat(990)}{${'"b":1,'.repeat(100_000)}"b":1}${"}".repeat(990)}`;
  await bounded("keys that occur twice, deep down", json, same);
  await bounded("a million brackets", json, "[".repeat(1_000_000));
  await bounded("nested as far as may be", json, `${'{"a":'.repeat(999)}1${"}".repeat(999)}`);
  assert.equal(await bounded("a million values", json, `{"data":[${"0,".repeat(1_000_000)}0]}`), 400);
  await bounded("one long text", json, `{"x":"${"a".repeat(2_900_000)}"}`);
  const keys = Array.from({ length: 1_400 }, (_, i) => `"k${i}":"1"`).join(",");
  const many = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"},"data":{${keys}}}`;
  assert.equal(await bounded("many keys", json, many), 201);
  const apply = "application/apply-patch+yaml";
  const one = "/api/v1/namespaces/default/configmaps/y?fieldManager=x&dryRun=All";
  const head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y}\n";
  const lines = Array.from({ length: 8_000 }, (_, i) => `  k${i}: "1"`).join("\n");
  await bounded("a lot of YAML", apply, `${head}data:\n${lines}`, { method: "PATCH", path: one });
  const laughs = Array.from({ length: 12 }, (_, i) => `a${i + 1}: &a${i + 1} [${`*a${i},`.repeat(9)}*a${i}]`);
  await bounded("aliases of aliases", apply, `a0: &a0 [x]\n${laughs.join("\n")}`, {
    method: "PATCH",
    path: one,
  });
  await bounded("brackets of YAML", apply, `${head}data: ${"[".repeat(500_000)}`, {
    method: "PATCH",
    path: one,
  });
});

test("a refusal says what it refuses, and repeats no megabytes", async () => {
  const long = "a".repeat(2_900_000);
  const map = (metadata: object, more: object = {}) =>
    JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata, ...more });
  for (const [what, body] of Object.entries({
    name: map({ name: long }),
    "value of a label": map({ name: "a", labels: { a: long } }),
    label: map({ name: "a", labels: { [long]: "a" } }),
    kind: map({ name: "a" }, { kind: long }),
    field: map({ name: "a" }, { [long]: 1 }),
  })) {
    const options = { method: "POST", headers: { "content-type": "application/json" }, body };
    const { text } = await server.http.send(`${MAPS}&fieldValidation=Strict`, options);
    const { code, message } = JSON.parse(text) as { code: number; message: string };
    assert.ok(code === 400 || code === 422, `${what}: ${text.slice(0, 300)}`);
    assert.match(message, /aaaa\.\.\. \(\d+ characters\)$/, what);
    assert.ok(text.length < 64 * 1024, `${what}: ${text.length} characters`);
  }
});

test("a text that is long where a short one belongs is refused before anybody counts with it", async () => {
  const json = "application/json";
  const object = (apiVersion: string, kind: string, spec: object) =>
    JSON.stringify({ apiVersion, kind, metadata: { name: "long" }, spec });
  const claims = { path: "/api/v1/namespaces/default/persistentvolumeclaims?dryRun=All" };
  for (const storage of [
    `${"1".repeat(100_000)}`,
    `0.${"0".repeat(2_900_000)}1`,
    `${"1".repeat(100_000)}Ei`,
  ]) {
    const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage } } };
    const claim = object("v1", "PersistentVolumeClaim", spec);
    assert.equal(await bounded("digits of a quantity", json, claim, claims), 400);
  }
  const template = { spec: { restartPolicy: "Never", containers: [{ name: "a", image: "host" }] } };
  const schedule = `0 0 ${"1,".repeat(1_400_000)}1 * *`;
  const job = object("batch/v1", "CronJob", { schedule, jobTemplate: { spec: { template } } });
  const jobs = { path: "/apis/batch/v1/namespaces/default/cronjobs?dryRun=All" };
  assert.equal(await bounded("a schedule", json, job, jobs), 422);
});

test("a place of a JSON patch is no deeper and no longer than an object may be", async () => {
  const made = await server.http.post("/api/v1/namespaces/default/configmaps", {
    metadata: { name: "place" },
  });
  assert.equal(made.status, 201);
  const one = { method: "PATCH", path: "/api/v1/namespaces/default/configmaps/place?dryRun=All" };
  for (const path of [`/data${"/a".repeat(1_400_000)}`, `/data/${"~0".repeat(1_400_000)}`]) {
    const operations = JSON.stringify([{ op: "test", path, value: "b" }]);
    assert.equal(await bounded("a place", "application/json-patch+json", operations, one), 400);
  }
});

test("warnings of a response are as short as upstream's", async () => {
  const unknown = Array.from({ length: 100 }, (_, i) => `"${String(i).padEnd(20_000, "x")}":1`).join(",");
  const body = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"warned"},${unknown}}`;
  const response = await server.http.send(MAPS, {
    ...{ method: "POST", headers: { "content-type": "application/json" }, body },
  });
  assert.equal(response.status, 201);
  const warnings = String(response.headers.warning);
  assert.match(warnings, /299 - "unknown field/);
  assert.ok(warnings.length < 6_000, `${warnings.length} characters`);
});

test("who asks for an object by a name that none can have gets none", async () => {
  const long = "a".repeat(9_000);
  const maps = "/api/v1/namespaces/default/configmaps";
  for (const path of [
    `${maps}?fieldSelector=metadata.name%3D${long}`,
    `/api/v1/configmaps?fieldSelector=metadata.name%3D${long}`,
    `/api/v1/namespaces/${long}/configmaps`,
  ]) {
    const { status, json } = await server.http.get(path);
    assert.deepEqual([status, json.items], [200, []], path.slice(0, 80));
  }
  const { json } = await server.http.get(maps);
  const token = { v: 1, rv: Number(json.metadata.resourceVersion), start: long };
  const next = Buffer.from(JSON.stringify(token)).toString("base64url");
  const { status } = await server.http.get(`${maps}?limit=1&continue=${next}`);
  assert.equal(status, 400);
});

test("an object does not get larger by pieces than it may be at once", async () => {
  const path = "/api/v1/namespaces/default/configmaps";
  const headers = { "impersonate-user": "untrusted" };
  const made = await server.http.post(path, { metadata: { name: "growing" } }, headers);
  assert.equal(made.status, 201);
  const add = (at: number, writer: string) => {
    const data = Object.fromEntries(Array.from({ length: 700 }, (_, i) => [`k${at}-${i}`, "1"]));
    return server.http.send(`${path}/growing?fieldManager=${writer}`, {
      ...{ method: "PATCH", body: { data } },
      headers: { ...headers, "content-type": "application/merge-patch+json" },
    });
  };
  assert.equal((await add(1, "a")).status, 200);
  assert.equal((await add(2, "b")).status, 200);
  const third = await add(3, "c");
  assert.equal(third.status, 400);
  assert.match(third.json.message, /has more than \d+ values/);
  const { json } = await server.http.get(`${path}/growing`);
  assert.equal(Object.keys(json.data ?? {}).length, 1_400);
});

test("an object that is read as YAML blocks the server no more than as JSON", async () => {
  const path = "/api/v1/namespaces/default/configmaps";
  const data = { text: `"'\u0001 `.repeat(150_000) };
  assert.equal((await server.http.post(path, { metadata: { name: "quotes" }, data })).status, 201);
  for (const read of [`${path}/quotes`, path]) {
    const headers = { accept: "application/yaml", "impersonate-user": "untrusted" };
    const { response, ms } = await measured(() => server.http.send(read, { headers }));
    assert.equal(response.status, 200);
    assert.match(response.text, /name: quotes\n/);
    assert.ok(ms < MOST_MS, `${read} takes ${ms.toFixed(0)} ms`);
  }
  await server.http.delete(`${path}/quotes`);
});

test("a content type with the name of something else is unknown", async () => {
  for (const type of ["__proto__", "constructor", "toString"]) {
    for (const method of ["POST", "PATCH"]) {
      const path = method === "POST" ? MAPS : "/api/v1/namespaces/default/configmaps/x";
      const response = await server.http.send(path, {
        method,
        headers: { "content-type": type },
        body: "{}",
      });
      assert.equal(response.status, 415, `${method} ${type}`);
    }
  }
});

async function define(name: string, spec: object): Promise<void> {
  const plural = `${name}s`;
  const kind = name[0]?.toUpperCase() + name.slice(1);
  const definition = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.example.org` },
    spec: {
      group: "example.org",
      scope: "Namespaced",
      names: { plural, kind },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object", properties: { spec } } },
        },
      ],
    },
  };
  const response = await server.http.post(
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    definition,
  );
  assert.equal(response.status, 201, response.text);
  await eventually(`${plural} are served`, async () => {
    const { status } = await server.http.get(`/apis/example.org/v1/namespaces/default/${plural}`);
    return status === 200;
  });
}

const times = (count: number, value: string) => Array.from({ length: count }, () => value);

test("a role that stands for very many combinations is not compared one by one", async () => {
  const roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
  const rules = [
    { verbs: ["get", "list", "create"], apiGroups: [""], resources: ["pods", "configmaps"] },
    { verbs: ["create"], apiGroups: ["rbac.authorization.k8s.io"], resources: ["roles"] },
  ];
  const narrow = (at: number) => ({ verbs: ["get"], apiGroups: [`g${at}`], resources: ["*"] });
  const held = [...rules, ...Array.from({ length: 100 }, (_, at) => narrow(at))];
  assert.equal((await server.http.post(roles, { metadata: { name: "some" }, rules: held })).status, 201);
  const bound = await server.http.post("/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", {
    metadata: { name: "some" },
    subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "namespace-admin" }],
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "some" },
  });
  assert.equal(bound.status, 201, bound.text);
  const make = (wanted: object) =>
    measured(() =>
      server.http.post(
        `${roles}?dryRun=All`,
        { metadata: { name: "wide" }, rules: [wanted] },
        { "impersonate-user": "namespace-admin" },
      ),
    );
  const twice = { verbs: times(400, "get"), apiGroups: times(400, ""), resources: times(400, "pods") };
  const groups = Array.from({ length: 100 }, (_, at) => `g${at}`);
  const names = Array.from({ length: 1_200 }, (_, at) => `n${at}`);
  for (const [wanted, status] of [
    [twice, 201],
    [{ verbs: ["get"], apiGroups: groups, resources: names }, 400],
  ] as const) {
    const { response, ms } = await make(wanted);
    assert.equal(response.status, status, response.text.slice(0, 300));
    assert.ok(ms < MOST_MS, `it takes ${ms.toFixed(0)} ms`);
  }
});

test("lists with keys take no longer to merge than they are long", thorough(), async () => {
  const types = ["application/strategic-merge-patch+json", "application/apply-patch+yaml"] as const;
  for (const type of types) {
    const [short, long] = [await mergeMs(type, 2_250), await mergeMs(type, 9_000)];
    // Four times as long; each with each would be sixteen times as much.
    assert.ok(
      long < 8 * short,
      `${type} takes ${long.toFixed(0)} ms, and ${short.toFixed(0)} ms of a quarter`,
    );
  }
});

/** Processor time of this thread for a patch of a list of so many with itself, the least of some. */
async function mergeMs(type: string, length: number): Promise<number> {
  const name = `long-${length}`;
  const pods = "/api/v1/namespaces/default/pods";
  const env = Array.from({ length }, (_, at) => ({ name: `v${at}` }));
  const pod = {
    ...{ apiVersion: "v1", kind: "Pod", metadata: { name } },
    spec: { containers: [{ name: "c", image: "host", env }] },
  };
  const made = await server.http.post(pods, pod);
  assert.ok([201, 409].includes(made.status), made.text.slice(0, 300));
  const order = { "$setElementOrder/env": [...env].reverse() };
  const body = type.includes("strategic")
    ? { spec: { containers: [{ name: "c", env, ...order }] } }
    : { ...pod, metadata: { name, labels: { a: "b" } } };
  let least = Number.POSITIVE_INFINITY;
  for (let times = 0; times < 3; times += 1) {
    const before = threadMs();
    // As the administrator, whose lists may be long enough to show how the time grows.
    const path = `${pods}/${name}?dryRun=All&fieldManager=x`;
    const response = await server.http.send(path, {
      method: "PATCH",
      headers: { "content-type": type },
      body,
    });
    assert.ok(response.status < 500, response.text.slice(0, 300));
    least = Math.min(least, threadMs() - before);
  }
  return least;
}

test("a node sends more values than others, but not in objects whose keys it chooses", async () => {
  const headers = { "impersonate-user": "system:node:n1", "impersonate-group": "system:nodes" };
  assert.equal((await server.http.post("/api/v1/nodes", { metadata: { name: "n1" } }, headers)).status, 201);
  const send = (path: string, body: object) =>
    server.http.send(path, {
      ...{ method: "PATCH", body },
      headers: { ...headers, "content-type": "application/merge-patch+json" },
    });
  const volumesInUse = Array.from({ length: 3_900 }, (_, at) => `v${at}`);
  assert.equal((await send("/api/v1/nodes/n1/status", { status: { volumesInUse } })).status, 200);
  const annotations = Object.fromEntries(Array.from({ length: 1_100 }, (_, at) => [`k${at}`, "1"]));
  const { status, json } = await send("/api/v1/nodes/n1", { metadata: { annotations } });
  assert.equal(status, 400);
  assert.match(json.message, /more than 1000 keys/);
  assert.equal((await send("/api/v1/nodes/n1/status", { status: { volumesInUse: null } })).status, 200);
  // Whose fields are tracked one by one: no other body of a node costs as much.
  const conditions = Array.from({ length: 1_290 }, (_, at) => ({ type: `T${at}`, status: "True" }));
  const body = { apiVersion: "v1", kind: "Node", metadata: { name: "n1" }, status: { conditions } };
  const { response, ms } = await measured(() =>
    server.http.send("/api/v1/nodes/n1/status?fieldManager=n1", {
      ...{ method: "PATCH", body },
      headers: { ...headers, "content-type": "application/apply-patch+yaml" },
    }),
  );
  assert.equal(response.status, 200, response.text.slice(0, 300));
  assert.ok(ms < MOST_MS, `it takes ${ms.toFixed(0)} ms`);
});

test("patterns have RE2's meaning and take no longer than their text", async () => {
  await define("word", { type: "string", pattern: "^(([a-z])+.)+[A-Z]([a-z])+$" });
  const path = "/apis/example.org/v1/namespaces/default/words?dryRun=All";
  const word = (spec: string) =>
    JSON.stringify({ apiVersion: "example.org/v1", kind: "Word", metadata: { name: "w" }, spec });
  assert.equal(
    await bounded("29 characters", "application/json", word("a".repeat(29)), { method: "POST", path }),
    422,
  );
  assert.equal(await bounded("a fit", "application/json", word("ab.Cd"), { method: "POST", path }), 201);
  assert.equal(
    await bounded("a long text", "application/json", word("a".repeat(1_000_000)), { method: "POST", path }),
    422,
  );
});

test("no rule of a custom resource takes longer for what it is given than it may cost", async () => {
  const rules = {
    failure: "self.l.exists(a, self.l.exists(b, string(self.l) == ''))",
    duration: "duration(self.t) < duration('1h') || duration(self.t) > duration('24h')",
  };
  for (const [name, rule] of Object.entries(rules)) {
    const list = { type: "array", items: { type: "integer" } };
    const properties = { l: list, t: { type: "string" } };
    await define(name, { type: "object", properties, "x-kubernetes-validations": [{ rule }] });
    const body = JSON.stringify({
      apiVersion: "example.org/v1",
      kind: `${name[0]?.toUpperCase()}${name.slice(1)}`,
      metadata: { name: "p" },
      spec: { l: Array.from({ length: 1_000 }, () => 1), t: "9".repeat(3_000) },
    });
    const path = `/apis/example.org/v1/namespaces/default/${name}s?dryRun=All`;
    assert.equal(await bounded(name, "application/json", body, { method: "POST", path }), 422, name);
  }
});

test("rules of custom resources end when they cost too much", async () => {
  await define("pile", {
    type: "array",
    items: { type: "integer" },
    "x-kubernetes-validations": [
      { rule: "self.all(a, self.all(b, self.all(c, a + b + c >= 0)))", message: "must not be negative" },
    ],
  });
  const path = "/apis/example.org/v1/namespaces/default/piles?dryRun=All";
  const pile = (count: number) =>
    JSON.stringify({
      apiVersion: "example.org/v1",
      kind: "Pile",
      metadata: { name: "p" },
      spec: Array.from({ length: count }, () => 1),
    });
  assert.equal(await bounded("a small pile", "application/json", pile(10), { method: "POST", path }), 201);
  const response = await server.http.send(path, {
    method: "POST",
    body: pile(1000),
    headers: { "impersonate-user": "untrusted" },
  });
  assert.equal(response.status, 422);
  assert.match(response.json.message, /running out of cost budget/);
  assert.equal(await bounded("a large pile", "application/json", pile(1000), { method: "POST", path }), 422);
});

test("whoever does not say what they want is sent away", async () => {
  const { hostname, port } = new URL(server.api.url);
  const socket = connect({
    host: hostname,
    port: Number(port),
    ca: server.api.caPem,
    servername: "localhost",
  });
  await once(socket, "secureConnect");
  socket.write("GET /api HTTP/1.1\r\nHost: x\r\n");
  socket.resume();
  const closed = once(socket, "close").then(() => "closed");
  // Node's own limit is six times as long. On a busy machine both timers of this thread come late.
  const late = new AbortController();
  const waited = sleep(3 * HEADERS_MS, "open", { signal: late.signal }).catch(() => "");
  assert.equal(await Promise.race([closed, waited]), "closed");
  late.abort();
});

test("a user who sends slowly makes nobody else wait", async () => {
  const { url, caPem: ca, token } = server.api;
  const slow = Array.from({ length: 80 }, () => {
    const sent = request(new URL(MAPS, url), {
      ...{ method: "POST", agent: false, ca },
      headers: {
        ...{ authorization: `Bearer ${token}`, "impersonate-user": "untrusted" },
        ...{ "content-type": "application/json", "content-length": 1_000, expect: "100-continue" },
      },
    });
    sent.on("error", () => {});
    sent.flushHeaders();
    return sent;
  });
  await Promise.all(slow.map((sent) => once(sent, "continue")));
  for (const sent of slow) sent.write("{");
  const other = await server.http.get("/version", { "impersonate-user": "somebody" });
  for (const sent of slow) sent.destroy();
  assert.equal(other.status, 200, other.text);
  // Those who went away while they waited have no seat either.
  const own = await server.http.get("/version", { "impersonate-user": "untrusted" });
  assert.equal(own.status, 200, own.text);
});

test("tokens live for a day at most, and numbers that are none are refused", async () => {
  const path = "/api/v1/namespaces/default/serviceaccounts/default/token";
  const ask = (spec: object) => server.http.post(path, { spec });
  const day = await ask({ expirationSeconds: 365 * 24 * 3600 });
  assert.equal(day.status, 201);
  const { expirationTimestamp } = (day.json as unknown as { status: { expirationTimestamp: string } }).status;
  assert.ok(Date.parse(expirationTimestamp) - Date.now() <= 24 * 3600_000);
  for (const expirationSeconds of [1e300, 2.5, "600", 1e15])
    assert.ok([400, 422].includes((await ask({ expirationSeconds })).status), String(expirationSeconds));
  assert.equal((await ask({ audiences: "x" })).status, 400);
  assert.equal((await ask({ boundObjectRef: { kind: "Node", name: "gone" } })).status, 404);
});
