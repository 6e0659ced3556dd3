import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually } from "@mooring/store/testing";
import {
  startTestServer,
  type TestServer,
} from "../../../packages/standalone/src/apiserver/testing/test-server.ts";
import { differences, TABLES } from "./support/compare.ts";
import { Connection } from "./support/connection.ts";
import { readTable } from "./support/table.ts";
import { makeWorld } from "./support/world.ts";

let server: TestServer;
let connection: Connection;
before(async () => {
  server = await startTestServer();
  connection = await Connection.open(server.api.kubeconfig);
  await makeWorld(connection);
  await eventually("view is made of its parts", async () => {
    const { body } = await connection.send("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/admin");
    return JSON.stringify(body).includes("localsubjectaccessreviews");
  });
});
after(async () => {
  connection?.close();
  await server?.stop();
});

for (const name of Object.keys(TABLES)) {
  test(`ours responds to ${name} as a Kubernetes API server did`, async () => {
    const found = await differences(connection, name, "ours");
    assert.equal(found.length, 0, `${found.length} differ\n${found.join("\n")}`);
  });
}

test("the tables have more than 500 cases, and say why where ours differs on purpose", async () => {
  const tables = await Promise.all(Object.keys(TABLES).map(readTable));
  const cases = tables.flatMap((table) => table.cases);
  assert.ok(cases.length >= 500, `${cases.length} cases`);
  for (const { request, response, ours } of cases) {
    assert.notEqual(response, "?", request.join(" "));
    if (ours !== undefined) assert.match(ours, /^\S[^,]*, \w.{8,}/, request.join(" "));
  }
});
