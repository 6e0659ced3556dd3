import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { thorough } from "@mooring/store/testing";
import { programs, runner } from "../testing/kubectl.ts";
import { startTestServer, type TestServer } from "../testing/test-server.ts";
import { ABSENT_KINDS } from "./absent-kinds.ts";

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server?.stop());

test("a kind that is not there is discovered, and refused with what there is instead", async () => {
  for (const { group, version, kind, plural, namespaced } of ABSENT_KINDS) {
    const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
    const discovered = await server.http.get<{ resources: { name: string; verbs: string[] }[] }>(root);
    const resource = discovered.json.resources.find(({ name }) => name === plural);
    assert.deepEqual(resource?.verbs, ["create"], kind);
    const path = `${root}/${namespaced ? "namespaces/default/" : ""}${plural}`;
    const object = { apiVersion: root.replace(/^\/apis?\//, ""), kind, metadata: { name: "x" } };
    for (const refused of [
      await server.http.post(path, object),
      await server.http.get(path),
      await server.http.get(`${path}/x`),
    ]) {
      assert.equal(refused.status, 405);
      assert.match(refused.text, new RegExp(`standalone has no ${kind}: \\w+`));
    }
    const found = await server.http.get<{ kind: string; items: object[] }>(`${path}?labelSelector=app%3Dx`);
    assert.deepEqual([found.json.kind, found.json.items], [`${kind}List`, []]);
    assert.equal((await server.http.get(`${path}?labelSelector=app%3Dx&watch=1`)).status, 405);
  }
});

test("kubectl apply --prune deletes what is not in the files any more, whatever kinds there are", async () => {
  const { kubectl: program } = await programs();
  const kubectl = runner(program, { folder: server.folder, kubeconfig: server.api.kubeconfig });
  const map = (name: string) => ({
    ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { name, labels: { app: "pruned" } } },
  });
  for (const names of [["stays", "goes"], ["stays"]]) {
    const input = JSON.stringify({ apiVersion: "v1", kind: "List", items: names.map(map) });
    const { code, stderr } = await kubectl(["apply", "-f", "-", "--prune", "-l", "app=pruned"], { input });
    assert.equal(code, 0, stderr);
  }
  const { stdout } = await kubectl(["get", "configmaps", "-l", "app=pruned", "-o", "name"]);
  assert.equal(stdout.trim(), "configmap/stays");
});

test(
  "kubectl prints why an Ingress cannot be, and deletes all of a namespace as before",
  thorough(),
  async () => {
    const { kubectl: program } = await programs();
    const at = { folder: server.folder, kubeconfig: server.api.kubeconfig };
    const kubectl = runner(program, at);
    const ingress = {
      ...{ apiVersion: "networking.k8s.io/v1", kind: "Ingress", metadata: { name: "web" } },
      spec: { defaultBackend: { service: { name: "web", port: { number: 80 } } } },
    };
    const input = JSON.stringify(ingress);
    for (const args of [
      ["apply", "-f", "-"],
      ["create", "-f", "-"],
      ["apply", "--server-side", "-f", "-"],
      ["get", "ingress"],
      ["get", "ingress", "web"],
    ]) {
      const { code, stderr } = await kubectl(args, { input });
      assert.equal(code, 1, args.join(" "));
      assert.match(stderr, /standalone has no Ingress: containers use the machine's network/, args.join(" "));
      assert.doesNotMatch(stderr, /CRDs/);
    }
    for (const args of [
      ["get", "all"],
      ["delete", "all", "--all"],
      ["api-resources", "--verbs=list,delete"],
    ]) {
      const { code, stdout, stderr } = await kubectl(args);
      assert.equal(code, 0, stderr);
      assert.doesNotMatch(stdout, /ingress/);
    }
  },
);
