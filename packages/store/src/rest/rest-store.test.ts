import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type Shelf, Shelves, shelf, Widgets, widget } from "../contract/kinds.ts";
import { createInformer } from "../controller/informer.ts";
import { isStatus } from "../object/status-error.ts";
import { eventually } from "../runtime/eventually.ts";
import { silentLogger } from "../runtime/logger.ts";
import { openStore } from "../testing/open-store.ts";
import { startTestApiServer } from "../testing/test-api-server.ts";
import type { RestStoreOptions } from "./rest-store.ts";
import { RestStore } from "./rest-store.ts";

async function setUp(t: TestContext, options: RestStoreOptions = {}) {
  const local = await openStore(t);
  const api = await startTestApiServer(t, local);
  const rest = new RestStore({ server: api.url, tls: {}, namespace: "default" }, options);
  t.after(() => rest.close());
  return { local, api, rest };
}

function respondWith(code: number, headers: Record<string, string> = {}) {
  return (response: ServerResponse) => response.writeHead(code, headers).end("{}");
}

function isWatch(url: string | undefined): boolean {
  return url?.includes("watch=true") ?? false;
}

test("a watch goes on through closed connections without losing or repeating an event", async (t) => {
  const { local, api, rest } = await setUp(t);
  const open = new Set<ServerResponse>();
  api.intercept = (request, response) => {
    if (isWatch(request.url)) open.add(response.on("close", () => open.delete(response)));
    return false;
  };
  const stop = new AbortController();
  const seen: string[] = [];
  const { resourceVersion } = await rest.list(Shelves);
  const watching = (async () => {
    for await (const { type, object } of rest.watch(Shelves, { resourceVersion, signal: stop.signal })) {
      seen.push(`${type} ${object.metadata.name}`);
    }
  })();
  for (let round = 0; round < 4; round++) {
    await eventually("the watch to be open", () => open.size === 1);
    await local.create(Shelves, shelf(`before-${round}`));
    for (const response of open) response.destroy();
    await local.create(Shelves, shelf(`during-${round}`));
    await eventually("both events", () => seen.length === 2 * (round + 1));
  }
  stop.abort();
  await watching;
  assert.deepEqual(
    seen,
    [0, 1, 2, 3].flatMap((round) => [`ADDED before-${round}`, `ADDED during-${round}`]),
  );
});

test("a watch that was silent is opened again when a request of the same client gets no response", async (t) => {
  const { local, api, rest } = await setUp(t, { timeoutMs: 200 });
  let opened = 0;
  /** Requests that are never responded to. */
  const ignored: ServerResponse[] = [];
  api.intercept = (request, response) => {
    if (isWatch(request.url)) opened += 1;
    else ignored.push(response);
    return !isWatch(request.url);
  };
  const stop = new AbortController();
  const seen: string[] = [];
  const watching = (async () => {
    const options = { resourceVersion: local.resourceVersion, signal: stop.signal };
    for await (const { object } of rest.watch(Shelves, options)) seen.push(object.metadata.name);
  })();
  t.after(async () => {
    for (const response of ignored) response.destroy();
    stop.abort();
    await watching;
  });
  await local.create(Shelves, shelf("first"));
  await eventually("its first event", () => seen.length === 1);
  assert.ok(isStatus(await rest.list(Widgets).catch((error: unknown) => error), "ServiceUnavailable"));
  await eventually("another watch", () => opened === 2);
  await local.create(Shelves, shelf("last"));
  await eventually("what came after", () => seen.length === 2);
  assert.deepEqual(seen, ["first", "last"]);
});

test("an informer survives refusals, garbage, expired revisions and a dead connection", async (t) => {
  const { local, api, rest } = await setUp(t, { watchIdleMs: 300 });
  await local.create(Shelves, shelf("first"));
  const gone = { kind: "Status", status: "Failure", reason: "Expired", code: 410, message: "too old" };
  const faults = [
    respondWith(500),
    respondWith(429, { "retry-after": "0.01" }),
    (response: ServerResponse) => response.destroy(),
    (response: ServerResponse) => response.end("<html>busy</html>\n"),
    (response: ServerResponse) => response.end(`${JSON.stringify({ type: "ERROR", object: gone })}\n`),
    // Never sends anything again, like the other end of a pulled cable.
    (response: ServerResponse) => response.flushHeaders(),
  ];
  api.intercept = (request, response) => {
    const fault = isWatch(request.url) ? faults.shift() : undefined;
    fault?.(response);
    return fault !== undefined;
  };
  const stop = new AbortController();
  const informer = createInformer(rest, Shelves);
  const running = informer.run(stop.signal);
  await informer.synced(AbortSignal.timeout(60_000));
  await eventually("all faults to have happened", () => faults.length === 0);
  await local.create(Shelves, shelf("last"));
  await eventually("the informer to have caught up", () => informer.get("last") !== undefined);
  assert.deepEqual(
    informer
      .list()
      .map(({ metadata }) => metadata.name)
      .sort(),
    ["first", "last"],
  );
  stop.abort();
  await running;
});

test("a collection that may not be read is logged once, by resource and verb, and again when it may", async (t) => {
  const { local, api, rest } = await setUp(t);
  await local.create(Shelves, shelf("a"));
  const logged: string[] = [];
  const note = (fields: object, message: string) =>
    void logged.push(
      `${message}: ${"verb" in fields ? fields.verb : ""} ${"resource" in fields ? fields.resource : ""}`,
    );
  const logger = { ...silentLogger, error: note, warn: note, info: note };
  let refusals = 5;
  api.intercept = (_request, response) => {
    if (refusals-- <= 0) return false;
    respondWith(403)(response);
    return true;
  };
  const stop = new AbortController();
  const informer = createInformer(rest, Shelves, { logger });
  const running = informer.run(stop.signal);
  await informer.synced(AbortSignal.timeout(60_000));
  stop.abort();
  await running;
  assert.deepEqual(logged, [
    "missing right: cannot follow a collection: list shelves",
    "the collection may be read now:  shelves",
  ]);
});

test("a kind that is removed is logged once, and read anew when it is served again", async (t) => {
  const { local, api, rest } = await setUp(t);
  await local.create(Shelves, shelf("a"));
  const logged: string[] = [];
  const note = (fields: object, message: string) =>
    void logged.push(`${message}: ${"resource" in fields ? fields.resource : ""}`);
  const logger = { ...silentLogger, error: note, warn: note, info: note };
  const open = new Set<ServerResponse>();
  let [served, refusals] = [true, 0];
  api.intercept = (request, response) => {
    if (served && isWatch(request.url)) open.add(response);
    if (served) return false;
    served = ++refusals === 5;
    respondWith(404)(response);
    return true;
  };
  const stop = new AbortController();
  const informer = createInformer(rest, Shelves, { logger });
  const running = informer.run(stop.signal);
  await eventually("the watch to be open", () => open.size === 1);
  served = false;
  for (const response of open) response.destroy();
  await local.delete(Shelves, { name: "a" });
  await local.create(Shelves, shelf("b"));
  await eventually("what there is since then", () => informer.get("b") !== undefined);
  assert.equal(informer.get("a"), undefined);
  stop.abort();
  await running;
  assert.deepEqual(logged, [
    "the server does not serve a kind (any more); waiting for it: shelves",
    "the server serves the kind now: shelves",
  ]);
});

test("an informer has one watch open at a time and does not hammer a server that ends watches at once", async (t) => {
  const { api, rest } = await setUp(t);
  let open = 0;
  let most = 0;
  const opened: number[] = [];
  api.intercept = (request, response) => {
    if (!isWatch(request.url)) return false;
    open += 1;
    opened.push(performance.now());
    most = Math.max(most, open);
    response.on("close", () => {
      open -= 1;
    });
    response.end();
    return true;
  };
  const stop = new AbortController();
  t.after(() => stop.abort());
  const running = createInformer(rest, Shelves).run(stop.signal);
  await eventually("some watches", () => opened.length >= 4);
  const [, , third = 0, fourth = 0] = opened;
  assert.ok(fourth - third > 300, `back-off grows: ${opened}`);
  stop.abort();
  await running;
  assert.equal(most, 1);
});

test("what an informer misses while it cannot watch it learns from the next list", async (t) => {
  const { local, api, rest } = await setUp(t);
  for (const name of ["stays", "goes", "changes"]) await local.create(Shelves, shelf(name, { a: "1" }));
  const stop = new AbortController();
  const informer = createInformer(rest, Shelves);
  const changes: string[] = [];
  informer.onChange((old, now) => {
    const what = old === undefined ? "new" : now === undefined ? "gone" : "changed";
    changes.push(`${what} ${(now ?? old)?.metadata.name}`);
  });
  let refusing = true;
  api.intercept = (request, response) => {
    if (!refusing || !isWatch(request.url)) return false;
    response.writeHead(410).end();
    return true;
  };
  const running = informer.run(stop.signal);
  await informer.synced(AbortSignal.timeout(60_000));
  changes.length = 0;
  await local.delete(Shelves, { name: "goes" });
  await local.patch(Shelves, { name: "changes" }, { type: "merge", body: { data: { a: "2" } } });
  await local.create(Shelves, shelf("comes"));
  refusing = false;
  await eventually("the differences", () => changes.length === 3);
  assert.deepEqual(changes.sort(), ["changed changes", "gone goes", "new comes"]);
  stop.abort();
  await running;
});

test("a server that is not there is a ServiceUnavailable, not a crash", async () => {
  const rest = new RestStore({ server: "http://127.0.0.1:1", tls: {}, namespace: "default" });
  await assert.rejects(rest.get(Shelves, { name: "a" }), (error) => isStatus(error, "ServiceUnavailable"));
  const watching = (async () => {
    for await (const _ of rest.watch(Shelves, { signal: AbortSignal.timeout(60_000) })) assert.fail();
  })();
  await assert.rejects(watching, (error) => isStatus(error, "ServiceUnavailable"));
});

test("a server that does not respond is given up after the time-out; an abort ends the wait at once", async (t) => {
  const { api, rest } = await setUp(t, { timeoutMs: 200 });
  api.intercept = () => true;
  await assert.rejects(rest.get(Shelves, { name: "a" }), (error) => isStatus(error, "ServiceUnavailable"));
  const reason = new Error("enough");
  const stop = new AbortController();
  const asking = rest.get(Shelves, { name: "a" }, stop.signal);
  stop.abort(reason);
  await assert.rejects(asking, reason);
});

test("a busy server is asked again when its response says so", async (t) => {
  const { local, api, rest } = await setUp(t);
  await local.create(Shelves, shelf("a"));
  let refusals = 2;
  api.intercept = (_request, response) => {
    if (refusals-- <= 0) return false;
    response.writeHead(429, { "retry-after": "0.01" }).end();
    return true;
  };
  assert.equal((await rest.get(Shelves, { name: "a" })).metadata.name, "a");
});

test("a token that the server no longer takes is read again from its file", async (t) => {
  const { local, api } = await setUp(t);
  await local.create(Shelves, shelf("a"));
  const folder = await mkdtemp(join(tmpdir(), "mooring-kubeconfig-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, "token"), "old\n");
  const config = {
    "current-context": "here",
    contexts: [{ name: "here", context: { cluster: "c", user: "u", namespace: "work" } }],
    clusters: [{ name: "c", cluster: { server: `${api.url}/` } }],
    users: [{ name: "u", user: { tokenFile: "token" } }],
  };
  await writeFile(join(folder, "config"), JSON.stringify(config));
  let accepted = "Bearer old";
  api.intercept = (request, response) => {
    if (request.headers.authorization === accepted) return false;
    response.writeHead(401).end();
    return true;
  };
  const rest = await RestStore.fromKubeconfig(join(folder, "config"));
  t.after(() => rest.close());
  assert.equal(rest.namespace, "work");
  await rest.get(Shelves, { name: "a" });
  accepted = "Bearer new";
  await assert.rejects(rest.get(Shelves, { name: "a" }), (error) => isStatus(error, "Unauthorized"));
  await writeFile(join(folder, "token"), "new\n");
  await rest.get(Shelves, { name: "a" });
});

test("a kubeconfig that cannot be used is refused with what is wrong", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "mooring-kubeconfig-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "config");
  const cases: [string, RegExp][] = [
    ["- a\n- :b: c: d", /not YAML|no context/],
    ["{}", /no context/],
    ["{contexts: [{name: a, context: {cluster: x}}]}", /no cluster "x"/],
    [
      "{contexts: [{name: a, context: {cluster: x, user: u}}], clusters: [{name: x, cluster: {server: 'https://h'}}], users: [{name: u, user: {exec: {command: aws}}}]}",
      /plugin/,
    ],
  ];
  for (const [text, message] of cases) {
    await writeFile(file, text);
    await assert.rejects(RestStore.fromKubeconfig(file), message);
  }
  await assert.rejects(RestStore.fromKubeconfig(join(folder, "none")), /cannot read the kubeconfig/);
});

test("items of a list know what they are", async (t) => {
  const { local, rest } = await setUp(t);
  await local.create(Widgets, widget("a", { size: 1 }));
  const [item] = (await rest.list(Widgets)).items;
  assert.deepEqual([item?.apiVersion, item?.kind], ["example.com/v1", "Widget"]);
});

test("a delete whose response is a Status still returns which object is gone", async (t) => {
  const { api, rest } = await setUp(t);
  api.intercept = (_request, response) => {
    response.end(JSON.stringify({ kind: "Status", status: "Success", details: { name: "a", uid: "u-1" } }));
    return true;
  };
  const gone: Shelf = await rest.delete(Shelves, { name: "a" });
  assert.deepEqual(gone, { apiVersion: "v1", kind: "Shelf", metadata: { name: "a", uid: "u-1" } });
});

test("a store without managers reads none of what a server sends of them", async (t) => {
  const { api, rest } = await setUp(t, { withoutManagers: true });
  const managedFields = [{ manager: "kubectl", operation: "Update", fieldsV1: { "f:data": {} } }];
  const text = 'it has "managedFields":[{"manager":"x"}] in it';
  const sent = { metadata: { name: "a", resourceVersion: "2", managedFields }, data: { text } };
  api.intercept = (request, response) => {
    const one = isWatch(request.url) ? { type: "ADDED", object: sent } : sent;
    const isList = request.url?.endsWith("/shelves") === true && request.method === "GET";
    const all = isList ? { metadata: { resourceVersion: "1" }, items: [sent, sent] } : one;
    response.writeHead(200, { "content-type": "application/json" }).end(`${JSON.stringify(all)}\n`);
    return true;
  };
  const { items, resourceVersion } = await rest.list(Shelves);
  const watch = rest.watch(Shelves, { resourceVersion, signal: AbortSignal.timeout(60_000) });
  const { value: event } = await watch.next();
  await watch.return();
  const read = [...items, event?.object, await rest.get(Shelves, { name: "a" })];
  read.push(await rest.create(Shelves, shelf("a")));
  const { managedFields: _, ...metadata } = sent.metadata;
  assert.equal(read.length, 5);
  for (const each of read)
    assert.deepEqual({ metadata: each?.metadata, data: each?.data }, { metadata, data: { text } });
});
