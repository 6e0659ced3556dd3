import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { mustRun, programs, type Run, runner } from "./testing/kubectl.ts";
import { startTestServer, type TestServer } from "./testing/test-server.ts";

let server: TestServer;
let run: Run;
let kubectl: ReturnType<typeof mustRun>;
before(async () => {
  server = await startTestServer();
  run = runner((await programs()).kubectl, { folder: server.folder, kubeconfig: server.api.kubeconfig });
  kubectl = mustRun(run);
});
after(() => server.stop());

const json = async (...args: string[]) => JSON.parse(await kubectl([...args, "-o", "json"]));

const CRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.harbor.example.com}
spec:
  group: harbor.example.com
  names: {plural: boats, singular: boat, kind: Boat, shortNames: [bo], categories: [all]}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      subresources:
        status: {}
        scale: {specReplicasPath: .spec.masts, statusReplicasPath: .status.masts}
      additionalPrinterColumns:
        - {name: Length, type: integer, jsonPath: .spec.length}
        - {name: Ready, type: string, jsonPath: '.status.conditions[?(@.type=="Ready")].status'}
        - {name: Port, type: string, priority: 1, jsonPath: .spec.port}
        - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
      schema:
        openAPIV3Schema:
          type: object
          description: A boat.
          properties:
            spec:
              type: object
              required: [length]
              x-kubernetes-validations:
                - {rule: "self.length > self.masts", message: too many masts}
              properties:
                length: {type: integer, minimum: 1, description: In metres.}
                masts: {type: integer, default: 1}
                port: {type: string, default: Hamburg}
            status:
              type: object
              x-kubernetes-preserve-unknown-fields: true
`;
const boat = (name: string, spec: object) =>
  JSON.stringify({ apiVersion: "harbor.example.com/v1", kind: "Boat", metadata: { name }, spec });

test("a definition is applied, established, discovered and explained", async () => {
  await kubectl(["apply", "-f", "-"], { input: CRD });
  await kubectl(["wait", "crd/boats.harbor.example.com", "--for=condition=Established", "--timeout=60s"]);
  assert.match(
    await kubectl(["api-resources", "--api-group=harbor.example.com"]),
    /boats +bo +harbor\.example\.com\/v1 +true +Boat/,
  );
  assert.match(await kubectl(["explain", "boat.spec.length"]), /In metres\./);
  assert.match(await kubectl(["get", "crd"]), /boats\.harbor\.example\.com/);
});

test("custom objects are defaulted, pruned, validated and printed", async () => {
  await kubectl(["apply", "-f", "-"], { input: boat("ann", { length: 12 }) });
  assert.deepEqual((await json("get", "boat", "ann")).spec, { length: 12, masts: 1, port: "Hamburg" });
  assert.match(await kubectl(["get", "bo"]), /^NAME +LENGTH +READY +AGE\nann +12 +\S*\s/);
  assert.match(await kubectl(["get", "bo", "-o", "wide"]), /PORT/);
  const create = (input: string, ...more: string[]) => run(["create", ...more, "-f", "-"], { input });
  assert.match((await create(boat("bad", { length: 1, masts: 2 }))).stderr, /too many masts/);
  assert.match((await create(boat("bad", {}))).stderr, /spec\.length: Required value/);
  assert.match((await create(boat("bad", { length: "x" }))).stderr, /must be of type integer/);
  assert.match((await create(boat("bad", { length: 3, sails: 1 }))).stderr, /unknown field "spec\.sails"/);
  assert.equal((await create(boat("pruned", { length: 3, sails: 1 }), "--validate=false")).code, 0);
  assert.equal((await json("get", "boat", "pruned")).spec.sails, undefined);
});

test("custom objects take merge, JSON and apply patches, and no strategic ones", async () => {
  await kubectl(["patch", "boat", "ann", "--type=merge", "-p", '{"spec":{"length":20}}']);
  await kubectl([
    "patch",
    "boat",
    "ann",
    "--type=json",
    "-p",
    '[{"op":"replace","path":"/spec/port","value":"Kiel"}]',
  ]);
  assert.deepEqual((await json("get", "boat", "ann")).spec, { length: 20, masts: 1, port: "Kiel" });
  const strategic = await run(["patch", "boat", "ann", "-p", '{"spec":{"length":21}}']);
  assert.match(strategic.stderr, /the body of the request was in an unknown format/);
  const { metadata } = await json("get", "boat", "ann");
  assert.equal(metadata.generation, 3);
  await kubectl(["apply", "-f", "-"], { input: boat("ann", { length: 22 }) });
  assert.equal((await json("get", "boat", "ann")).spec.length, 22);
  await kubectl(["edit", "boat", "ann"], { env: { EDITOR: "sed -i s/Kiel/Bremen/" } });
  assert.equal((await json("get", "boat", "ann")).spec.port, "Bremen");
});

test("status is written apart, and scale changes the replicas only", async () => {
  const conditions = {
    status: { conditions: [{ type: "Ready", status: "True" }], masts: 3 },
    spec: { length: 1 },
  };
  await kubectl([
    "patch",
    "boat",
    "ann",
    "--subresource=status",
    "--type=merge",
    "-p",
    JSON.stringify(conditions),
  ]);
  assert.match(await kubectl(["get", "boat", "ann"]), /ann +22 +True/);
  await kubectl(["scale", "boat/ann", "--replicas=2"]);
  assert.equal((await json("get", "boat", "ann")).spec.masts, 2);
  const scale = JSON.parse(await kubectl(["get", "boat", "ann", "--subresource=scale", "-o", "json"]));
  assert.deepEqual([scale.kind, scale.spec.replicas, scale.status.replicas], ["Scale", 2, 3]);
  await kubectl([
    "patch",
    "boat",
    "ann",
    "--subresource=scale",
    "--type=merge",
    "-p",
    '{"spec":{"replicas":4}}',
  ]);
  assert.equal((await json("get", "boat", "ann")).spec.masts, 4);
  await kubectl(["wait", "boat/ann", "--for=condition=Ready", "--timeout=60s"]);
  assert.match(await kubectl(["describe", "boat", "ann"]), /Masts: +4/);
});

test("custom objects are collected with their owners and go with their namespace and definition", async () => {
  const { metadata } = await json("get", "boat", "ann");
  const owner = { apiVersion: "harbor.example.com/v1", kind: "Boat", name: "ann", uid: metadata.uid };
  const crew = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "crew", ownerReferences: [owner] } };
  await kubectl(["create", "-f", "-"], { input: JSON.stringify(crew) });
  await kubectl(["delete", "boat", "ann"]);
  await kubectl(["wait", "--for=delete", "cm/crew", "--timeout=60s"]);
  await kubectl(["create", "ns", "docks"]);
  await kubectl(["-n", "docks", "create", "-f", "-"], { input: boat("bea", { length: 5 }) });
  await kubectl(["delete", "ns", "docks"]);
  await kubectl(["delete", "crd", "boats.harbor.example.com"]);
  assert.match(
    (await run(["get", "boats"])).stderr,
    /doesn't have a resource type "boats"|could not find the requested resource/,
  );
});
