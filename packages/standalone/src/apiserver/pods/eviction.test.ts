import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { thorough } from "@mooring/store/testing";
import { startTestServer, type TestServer } from "../testing/test-server.ts";

const PODS = "/api/v1/namespaces/default/pods";
let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

async function evict(name: string, deleteOptions: object) {
  const { http } = server;
  await http.post(PODS, {
    metadata: { name },
    spec: { nodeName: "a", containers: [{ name: "c", image: "/bin/true" }] },
  });
  const response = await http.post(`${PODS}/${name}/eviction`, {
    ...{ apiVersion: "policy/v1", kind: "Eviction", metadata: { name } },
    deleteOptions,
  });
  return { response, pod: await http.get(`${PODS}/${name}`) };
}

test("an eviction has the options of a delete", thorough(), async () => {
  const periods = { at: -5, part: 2.7, whole: 7 };
  const kept: [string, number | undefined][] = [];
  for (const [name, gracePeriodSeconds] of Object.entries(periods)) {
    const { response, pod } = await evict(name, { gracePeriodSeconds });
    assert.equal(response.status, 201);
    kept.push([name, pod.json.metadata.deletionGracePeriodSeconds]);
  }
  assert.deepEqual(Object.fromEntries(kept), { at: 1, part: 2, whole: 7 });
  const other = await evict("other", { preconditions: { uid: "another" } });
  assert.equal(other.response.status, 409);
  const dry = await evict("dry", { dryRun: ["All"] });
  assert.deepEqual([dry.response.status, dry.pod.json.metadata.deletionTimestamp], [201, undefined]);
  assert.equal((await evict("wrong", { propagationPolicy: "Sideways" })).response.status, 422);
});
