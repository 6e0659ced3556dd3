import assert from "node:assert/strict";
import { test } from "node:test";
import { startTestServer } from "../testing/test-server.ts";

interface Discovered {
  resources: { name: string; kind: string; verbs: string[]; namespaced: boolean }[];
}

interface Aggregated {
  items: { versions: { resources: { resource: string; subresources?: { subresource: string }[] }[] }[] }[];
}

test("what connects a client with a pod is discovered, as on a cluster", async (t) => {
  const server = await startTestServer();
  t.after(() => server.stop());
  const { resources } = (await server.http.get<Discovered>("/api/v1")).json;
  for (const [name, kind] of [
    ["attach", "PodAttachOptions"],
    ["exec", "PodExecOptions"],
    ["portforward", "PodPortForwardOptions"],
  ]) {
    const found = resources.find((each) => each.name === `pods/${name}`);
    assert.deepEqual(found, {
      ...{ name: `pods/${name}`, singularName: "", kind, namespaced: true, verbs: ["create", "get"] },
    });
  }
  const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  const { items } = (await server.http.get<Aggregated>("/api", { accept })).json;
  const pods = items[0]?.versions[0]?.resources.find(({ resource }) => resource === "pods");
  const names = pods?.subresources?.map(({ subresource }) => subresource) ?? [];
  for (const name of ["attach", "exec", "portforward"]) assert.ok(names.includes(name), name);
});
