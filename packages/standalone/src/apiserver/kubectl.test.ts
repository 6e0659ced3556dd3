import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { eventually, thorough } from "@mooring/store/testing";
import type { LogRequest } from "./api.ts";
import { mustRun, programs, type Run, runner } from "./testing/kubectl.ts";
import { startTestServer, type TestServer } from "./testing/test-server.ts";

let server: TestServer;
let run: Run;
let kubectl: ReturnType<typeof mustRun>;
let program: string;
const logRequests: LogRequest[] = [];

async function* logs(request: LogRequest): AsyncGenerator<string, void> {
  logRequests.push(request);
  yield "first line\n";
  yield "second line\n";
}

before(async () => {
  program = (await programs()).kubectl;
  const none = () => assert.fail("nothing is run here");
  server = await startTestServer({ kubelet: { logs, exec: none, forward: none, elsewhere: none } });
  run = runner(program, { folder: server.folder, kubeconfig: server.api.kubeconfig });
  kubectl = mustRun(run);
});
after(() => server.stop());

const json = async (...args: string[]) => JSON.parse(await kubectl([...args, "-o", "json"]));

const CONFIG = (color: string, extra = "") => `
apiVersion: v1
kind: ConfigMap
metadata:
  name: paint
  labels: {app: house}
data:
  color: ${color}
${extra}`;

test("apply creates, reports unchanged, changes, and takes away what is no longer in the file", async () => {
  const apply = (input: string) => kubectl(["apply", "-f", "-"], { input });
  assert.equal(await apply(CONFIG("red", "  size: big\n")), "configmap/paint created\n");
  assert.equal(await apply(CONFIG("red", "  size: big\n")), "configmap/paint unchanged\n");
  assert.equal(await apply(CONFIG("blue")), "configmap/paint configured\n");
  assert.deepEqual((await json("get", "cm", "paint")).data, { color: "blue" });
  const diff = await run(["diff", "-f", "-"], { input: CONFIG("green") });
  assert.equal(diff.code, 1, diff.stderr);
  assert.match(diff.stdout, /\+ {2}color: green/);
});

test("get prints tables, wide, yaml, json, names, paths and selections", thorough(), async () => {
  await kubectl(["create", "configmap", "other", "--from-literal=a=1"]);
  assert.match(await kubectl(["get", "configmaps"]), /^NAME +DATA +AGE\n/);
  assert.match(await kubectl(["get", "cm", "-A"]), /^NAMESPACE +NAME +DATA +AGE\n/);
  assert.match(await kubectl(["get", "cm", "paint", "--show-labels"]), /app=house/);
  assert.match(await kubectl(["get", "ns", "-o", "wide"]), /default +Active/);
  assert.match(await kubectl(["get", "cm", "paint", "-o", "yaml"]), /\n {2}color: blue\n/);
  assert.equal(await kubectl(["get", "cm", "paint", "-o", "name"]), "configmap/paint\n");
  assert.equal(await kubectl(["get", "cm", "paint", "-o", "jsonpath={.data.color}"]), "blue");
  assert.equal(await kubectl(["get", "cm", "-l", "app in (house,flat)", "-o", "name"]), "configmap/paint\n");
  assert.equal(
    await kubectl(["get", "cm", "--field-selector", "metadata.name=other", "-o", "name"]),
    "configmap/other\n",
  );
  assert.match(
    await kubectl(["get", "cm", "--sort-by=.metadata.name", "-o", "custom-columns=N:.metadata.name"]),
    /^N\n/,
  );
  const missing = await run(["get", "cm", "nothing"]);
  assert.equal(missing.stderr, 'Error from server (NotFound): configmaps "nothing" not found\n');
});

test("get -w prints changes as they come", async () => {
  const child = spawn(program, ["get", "cm", "-w", "--output-watch-events", "-l", "watched=yes"], {
    env: { PATH: process.env.PATH ?? "", HOME: server.folder, KUBECONFIG: server.api.kubeconfig },
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  try {
    await kubectl(["create", "configmap", "eyed"]);
    await kubectl(["label", "cm", "eyed", "watched=yes"]);
    await eventually("ADDED is printed", () => /ADDED +eyed +0/.test(output));
    await kubectl(["patch", "cm", "eyed", "--type=merge", "-p", '{"data":{"a":"1"}}']);
    await eventually("MODIFIED is printed", () => /MODIFIED +eyed +1/.test(output));
    await kubectl(["delete", "cm", "eyed"]);
    await eventually("DELETED is printed", () => /DELETED +eyed/.test(output));
  } finally {
    child.kill();
    await once(child, "exit");
  }
});

test("patch, label and annotate change what they name", async () => {
  const patch = (type: string, body: string) =>
    kubectl(["patch", "cm", "paint", `--type=${type}`, "-p", body]);
  await patch("merge", '{"data":{"merged":"1"}}');
  await patch("json", '[{"op":"add","path":"/data/json","value":"2"}]');
  await patch("strategic", '{"data":{"strategic":"3","merged":null}}');
  assert.deepEqual((await json("get", "cm", "paint")).data, { color: "blue", json: "2", strategic: "3" });
  await kubectl(["label", "cm", "paint", "tier=a", "app-"]);
  await kubectl(["annotate", "cm", "paint", "note=hello world"]);
  const { metadata } = await json("get", "cm", "paint");
  assert.deepEqual(metadata.labels, { tier: "a" });
  assert.equal(metadata.annotations.note, "hello world");
  const failing = await run([
    "patch",
    "cm",
    "paint",
    "--type=json",
    "-p",
    '[{"op":"test","path":"/data/json","value":"9"}]',
  ]);
  assert.equal(failing.code, 1);
});

test("a strategic patch merges lists by their key", async () => {
  await kubectl(["run", "listed", "--image=host", "--env=A=1", "--", "sleep", "1"]);
  const body = { metadata: { finalizers: ["example.com/one"] } };
  await kubectl(["patch", "pod", "listed", "-p", JSON.stringify(body)]);
  body.metadata.finalizers = ["example.com/two"];
  await kubectl(["patch", "pod", "listed", "-p", JSON.stringify(body)]);
  assert.deepEqual((await json("get", "pod", "listed")).metadata.finalizers.sort(), [
    "example.com/one",
    "example.com/two",
  ]);
  const image = { spec: { containers: [{ name: "listed", image: "other" }] } };
  await kubectl(["patch", "pod", "listed", "-p", JSON.stringify(image)]);
  const pod = await json("get", "pod", "listed");
  assert.equal(pod.spec.containers.length, 1);
  assert.deepEqual(pod.spec.containers[0].env, [{ name: "A", value: "1" }]);
  await kubectl(["patch", "pod", "listed", "--type=merge", "-p", '{"metadata":{"finalizers":null}}']);
  await kubectl(["delete", "pod", "listed", "--now"]);
});

test("server-side apply owns fields, reports conflicts, and takes over by force", async () => {
  const apply = (manager: string, color: string, ...more: string[]) =>
    run(["apply", "--server-side", `--field-manager=${manager}`, ...more, "-f", "-"], {
      input: `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shared}\ndata: {color: ${color}}\n`,
    });
  assert.equal((await apply("alice", "red")).stdout, "configmap/shared serverside-applied\n");
  const refused = await apply("bob", "blue");
  assert.equal(refused.code, 1);
  assert.match(refused.stderr, /conflict with "alice": \.data\.color/);
  assert.equal((await apply("bob", "blue", "--force-conflicts")).code, 0);
  const { data, metadata } = await json("get", "cm", "shared", "--show-managed-fields");
  assert.deepEqual(data, { color: "blue" });
  const owners = metadata.managedFields.filter((entry: { operation: string }) => entry.operation === "Apply");
  assert.deepEqual(
    owners.map((entry: { manager: string }) => entry.manager),
    ["bob"],
  );
});

test("edit changes the object with any editor", async () => {
  const env = { EDITOR: "sed -i s/blue/yellow/" };
  assert.equal(await kubectl(["edit", "cm", "paint"], { env }), "configmap/paint edited\n");
  assert.equal((await json("get", "cm", "paint")).data.color, "yellow");
});

test("describe shows the object and its events", async () => {
  await kubectl(["run", "described", "--image=host", "--", "sleep", "1"]);
  const { metadata } = await json("get", "pod", "described");
  const event = {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: "described.1", namespace: "default" },
    involvedObject: {
      apiVersion: "v1",
      kind: "Pod",
      name: "described",
      namespace: "default",
      uid: metadata.uid,
    },
    reason: "Tested",
    message: "an event for describe",
    type: "Normal",
    source: { component: "test" },
    firstTimestamp: "2026-01-01T00:00:00Z",
    lastTimestamp: "2026-01-01T00:00:00Z",
    count: 1,
  };
  await kubectl(["create", "-f", "-"], { input: JSON.stringify(event) });
  const text = await kubectl(["describe", "pod", "described"]);
  assert.match(text, /^Name: +described\n/);
  assert.match(text, /Normal +Tested +.*test +an event for describe/);
  assert.match(await kubectl(["events", "--for", "pod/described"]), /an event for describe/);
  assert.match(await kubectl(["get", "events.v1.events.k8s.io"]), /described/);
  const newer = await json("get", "events.v1.events.k8s.io", "described.1");
  assert.equal(newer.note, "an event for describe");
  assert.equal(newer.regarding.name, "described");
});

test("logs come from the kubelet, with the options that were given", async () => {
  const { store } = server;
  assert.match((await run(["logs", "described"])).stderr, /does not have a host assigned/);
  const binding = {
    apiVersion: "v1",
    kind: "Binding",
    metadata: { name: "described" },
    target: { kind: "Node", name: "here" },
  };
  await kubectl(["create", "--raw", "/api/v1/namespaces/default/pods/described/binding", "-f", "-"], {
    input: JSON.stringify(binding),
  });
  assert.equal((await json("get", "pod", "described")).spec.nodeName, "here");
  assert.equal(
    await kubectl(["logs", "described", "--tail=5", "--timestamps", "--previous"]),
    "first line\nsecond line\n",
  );
  const last = logRequests.at(-1);
  assert.equal(last?.tailLines, 5);
  assert.deepEqual(
    [last?.container, last?.previous, last?.timestamps, last?.follow],
    ["described", true, true, false],
  );
  assert.match(
    (await run(["logs", "described", "-c", "none"])).stderr,
    /container none is not valid for pod described/,
  );
  assert.match((await run(["exec", "described", "--", "true"])).stderr, /nothing is run here/);
  void store;
});

test("delete waits, and works in the background, the foreground, and for orphans", async () => {
  const owned = async (owner: string, name: string) => {
    const { metadata } = await json("get", "cm", owner);
    const reference = {
      apiVersion: "v1",
      kind: "ConfigMap",
      name: owner,
      uid: metadata.uid,
      blockOwnerDeletion: true,
    };
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name, ownerReferences: [reference] } };
    await kubectl(["create", "-f", "-"], { input: JSON.stringify(object) });
  };
  for (const cascade of ["background", "foreground", "orphan"]) {
    await kubectl(["create", "configmap", `owner-${cascade}`]);
    await owned(`owner-${cascade}`, `owned-${cascade}`);
    await kubectl(["delete", "cm", `owner-${cascade}`, `--cascade=${cascade}`]);
  }
  await kubectl(["wait", "--for=delete", "cm/owned-background", "cm/owned-foreground", "--timeout=60s"]);
  assert.equal((await json("get", "cm", "owned-orphan")).metadata.ownerReferences, undefined);
  await kubectl(["delete", "cm", "-l", "tier=a"]);
  assert.equal((await run(["get", "cm", "paint"])).code, 1);
});

test("wait follows conditions and paths", async () => {
  const waiting = kubectl(["wait", "pod/described", "--for=condition=Ready", "--timeout=60s"]);
  const status = { status: { phase: "Running", conditions: [{ type: "Ready", status: "True" }] } };
  await kubectl([
    "patch",
    "pod",
    "described",
    "--subresource=status",
    "--type=merge",
    "-p",
    JSON.stringify(status),
  ]);
  assert.equal(await waiting, "pod/described condition met\n");
  await kubectl(["wait", "pod/described", "--for=jsonpath={.status.phase}=Running", "--timeout=60s"]);
  await kubectl(["delete", "pod", "described", "--force", "--grace-period=0"]);
});

test("explain, api-resources, api-versions, auth and version know the server", thorough(), async () => {
  assert.match(await kubectl(["explain", "pod.spec.containers.image"]), /FIELD: image <string>/);
  assert.match(await kubectl(["explain", "pvc", "--recursive"]), /storageClassName/);
  const resources = await kubectl(["api-resources", "--namespaced=false"]);
  assert.match(resources, /persistentvolumes +pv +v1 +false +PersistentVolume\n/);
  assert.match(await kubectl(["api-versions"]), /storage\.k8s\.io\/v1\n/);
  assert.equal(await kubectl(["auth", "can-i", "create", "pods"]), "yes\n");
  assert.match(await kubectl(["auth", "can-i", "--list"]), /\*\.\*/);
  assert.match(await kubectl(["auth", "whoami"]), /mooring-admin/);
  assert.match(await kubectl(["version"]), /Server Version: v1\.35/);
  assert.match(await kubectl(["cluster-info"]), /is running at/);
  assert.equal(await kubectl(["get", "--raw", "/readyz"]), "ok");
});

test("every create command of built-in kinds works, protobuf or not", thorough(), async () => {
  const commands = [
    ["namespace", "made"],
    ["secret", "generic", "made", "--from-literal=a=b"],
    [
      "secret",
      "docker-registry",
      "made-reg",
      "--docker-server=s",
      "--docker-username=u",
      "--docker-password=p",
    ],
    ["serviceaccount", "made"],
    ["service", "clusterip", "made", "--tcp=80"],
    ["role", "made", "--verb=get", "--resource=pods"],
    ["rolebinding", "made", "--role=made", "--user=me"],
    ["clusterrole", "made", "--verb=get", "--resource=nodes"],
    ["clusterrolebinding", "made", "--clusterrole=made", "--serviceaccount=default:made"],
  ];
  for (const command of commands)
    assert.match(await kubectl(["create", ...command]), /created\n/, command.join(" "));
  assert.equal((await json("get", "secret", "made")).data.a, "Yg==");
  assert.equal((await json("get", "service", "made")).spec.ports[0].targetPort, 80);
  const unknown = await run(["create", "-f", "-"], {
    input: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {}\nspec: {}\n",
  });
  assert.match(unknown.stderr, /strict decoding error: unknown field "spec"/);
  const invalid = await run(["create", "-f", "-"], {
    input:
      "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: x}\nspec: {accessModes: [Nonsense]}\n",
  });
  assert.match(invalid.stderr, /The PersistentVolumeClaim "x" is invalid/);
});

test("a deleted namespace takes its content with it", thorough(), async () => {
  await kubectl(["-n", "made", "create", "configmap", "inside"]);
  assert.match(await kubectl(["-n", "made", "get", "cm,sa"]), /configmap\/kube-root-ca\.crt/);
  await kubectl(["delete", "namespace", "made"]);
  assert.equal((await run(["get", "ns", "made"])).code, 1);
});
