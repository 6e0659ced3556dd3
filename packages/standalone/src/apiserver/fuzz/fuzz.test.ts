import assert from "node:assert/strict";
import { test } from "node:test";
import { type KindInfo, verbsOf } from "../kind-info.ts";
import { startTestServer, type TestServer } from "../testing/test-server.ts";
import { costOf } from "../testing/thread-cost.ts";
import { type FuzzRequest, Requests } from "./requests.ts";

/** `MOORING_DEEP=1`: the long form. `MOORING_SEED` repeats a run. */
const COUNT = process.env.MOORING_DEEP === "1" ? 100_000 : 2_000;
const seed = Number(process.env.MOORING_SEED ?? Math.floor(Date.now() / 86_400_000));
/** Of the thread that server and client share, for one request: twice what the server alone may hold it for. */
const MOST_MS = 100;

/** Every kind that is served, and the names of all its fields. */
function collections({ kinds }: TestServer): Requests["collections"] {
  return kinds.all().flatMap((kind) => {
    const { group, kind: name, plural, namespaced } = kind.resource;
    if (verbsOf(kind).length === 0) return [];
    const inside = namespaced ? "namespaces/default/" : "";
    return kind.versions.map((version) => ({
      path: `${group === "" ? "/api" : `/apis/${group}`}/${version}/${inside}${plural}`,
      apiVersion: group === "" ? version : `${group}/${version}`,
      kind: name,
      fields: fieldsOf(kind, version),
    }));
  });
}

function fieldsOf(kind: KindInfo, version: string): string[] {
  const found = new Set(["spec", "status", "data"]);
  const walk = (schema: unknown, depth: number): void => {
    if (typeof schema !== "object" || schema === null || depth > 6 || found.size > 300) return;
    const { properties, items } = schema as { properties?: Record<string, unknown>; items?: unknown };
    for (const [name, child] of Object.entries(properties ?? {})) {
      found.add(name);
      walk(child, depth + 1);
    }
    walk(items, depth + 1);
  };
  walk(kind.schema(version), 0);
  return [...found];
}

const show = ({ method, path, headers, body }: FuzzRequest): string =>
  `${method} ${path} ${JSON.stringify(headers)} ${String(body ?? "").slice(0, 600)}`;

test(`${COUNT} hostile requests find no crash, no failure of the server and no stall (seed ${seed})`, async () => {
  const server = await startTestServer();
  try {
    const requests = new Requests(seed, collections(server));
    const codes: Record<number, number> = {};
    const slow: string[] = [];
    let slowest = 0;
    for (let count = 0; count < COUNT; count++) {
      const request = requests.next();
      const ask = () => server.http.send(request.path, request);
      const { answer, ms } = await costOf(ask);
      codes[answer.status] = (codes[answer.status] ?? 0) + 1;
      assert.ok(
        answer.status < 500 || answer.status === 501,
        `${answer.status}: ${show(request)}\n${answer.text.slice(0, 500)}`,
      );
      // The first ones are slow because nothing has been compiled yet.
      if (count < COUNT / 10) continue;
      slowest = Math.max(slowest, ms);
      if (ms > MOST_MS) slow.push(`${ms.toFixed(0)} ms: ${show(request)}`);
    }
    process.stdout.write(`# ${JSON.stringify({ codes, slowest: Math.round(slowest) })}\n`);
    assert.deepEqual(slow, []);
    assert.ok((codes[200] ?? 0) + (codes[201] ?? 0) > COUNT / 50, "most requests never got past the door");
    assert.equal((await server.http.get("/readyz")).status, 200);
  } finally {
    await server.stop();
  }
});
