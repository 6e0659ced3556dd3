import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually, thorough } from "@mooring/store/testing";
import { world } from "../support/world.ts";

const { kubectl, shows, gone } = await world();

const value = (target: string[], path: string): Promise<string> =>
  kubectl.run("get", ...target, "-o", `jsonpath=${path}`);
const claim = (name: string, namespace: string, extra = ""): string => `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: ${name}, namespace: ${namespace}}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 64Mi}}
  ${extra}
`;
const pod = (name: string, namespace: string, claimName: string, script: string): string => `
apiVersion: v1
kind: Pod
metadata: {name: ${name}, namespace: ${namespace}}
spec:
  restartPolicy: Never
  containers:
    - {name: main, image: host, command: [sh, -euc, "${script}"], volumeMounts: [{name: d, mountPath: /d}]}
  volumes: [{name: d, persistentVolumeClaim: {claimName: ${claimName}}}]
`;

async function succeeds(name: string, namespace: string): Promise<string> {
  await shows(["pod", name, "-n", namespace], "{.status.phase}", "Succeeded");
  return kubectl.run("logs", name, "-n", namespace);
}

const eventOf = (reason: string, message: RegExp): Promise<unknown> =>
  eventually(`event ${reason}`, async () => {
    const events = await value(
      ["events", "-A"],
      "{range .items[*]}{.reason}: {.message}{'\\n'}{end}".replaceAll("'", '"'),
    );
    return events.split("\n").some((line) => line.startsWith(`${reason}: `) && message.test(line));
  });

test(
  "a populator fills a volume in a namespace of its own and gives it to the claim, data and all",
  thorough(),
  async () => {
    await kubectl.apply(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: hellos.hello.example.com}
spec:
  group: hello.example.com
  scope: Namespaced
  names: {kind: Hello, plural: hellos}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {text: {type: string}}}}}}
---
apiVersion: v1
kind: Namespace
metadata: {name: populator}
`);
    await kubectl.run("wait", "--for=condition=Established", "crd/hellos.hello.example.com", "--timeout=60s");
    await kubectl.apply(`
apiVersion: hello.example.com/v1
kind: Hello
metadata: {name: world, namespace: default}
spec: {text: hello from an object}
`);
    const source = "dataSourceRef: {apiGroup: hello.example.com, kind: Hello, name: world}";
    await kubectl.apply(claim("greeting", "default", source));
    await eventOf("Provisioning", /Assuming an external populator will provision the volume/);
    await eventOf("UnrecognizedDataSourceKind", /does not match any registered VolumePopulator/);
    await kubectl.apply(`
apiVersion: populator.storage.k8s.io/v1beta1
kind: VolumePopulator
metadata: {name: hello}
sourceKind: {group: hello.example.com, kind: Hello}
`);

    // From here on what lib-volume-populator does.
    const uid = await value(["pvc", "greeting"], "{.metadata.uid}");
    const text = await value(["hello", "world"], "{.spec.text}");
    await kubectl.apply(claim(`prime-${uid}`, "populator"));
    await kubectl.apply(pod(`populate-${uid}`, "populator", `prime-${uid}`, `echo ${text} > /d/text`));
    await succeeds(`populate-${uid}`, "populator");
    const volume = await value(["pvc", `prime-${uid}`, "-n", "populator"], "{.spec.volumeName}");
    const version = await value(["pvc", "greeting"], "{.metadata.resourceVersion}");
    const claimRef = { namespace: "default", name: "greeting", uid, resourceVersion: version };
    const annotations = { "hello.example.com/populated-from": "default/world" };
    await kubectl.run(
      "patch",
      "pv",
      volume,
      "-p",
      JSON.stringify({ metadata: { annotations }, spec: { claimRef } }),
    );
    await shows(["pvc", `prime-${uid}`, "-n", "populator"], "{.status.phase}", "Lost");
    await kubectl.run("delete", "namespace", "populator");

    await shows(["pvc", "greeting"], "{.status.phase}", "Bound");
    assert.equal(await value(["pvc", "greeting"], "{.spec.volumeName}"), volume);
    await kubectl.apply(pod("reader", "default", "greeting", "cat /d/text"));
    assert.equal((await succeeds("reader", "default")).trim(), "hello from an object");
    await kubectl.run("delete", "pod/reader", "pvc/greeting", "volumepopulator/hello");
    await gone("pv", volume);
    await kubectl.run("delete", "crd/hellos.hello.example.com");
  },
);

test(
  "a claim begins as a copy of what is in another namespace once a grant there allows it",
  thorough(),
  async () => {
    await kubectl.apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: owner}\n");
    await kubectl.apply(claim("src", "owner"));
    await kubectl.apply(pod("writer", "owner", "src", "echo from the owner > /d/text; sync"));
    await succeeds("writer", "owner");
    await kubectl.apply(`
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata: {name: snap, namespace: owner}
spec: {volumeSnapshotClassName: mooring, source: {persistentVolumeClaimName: src}}
`);
    await shows(["volumesnapshot", "snap", "-n", "owner"], "{.status.readyToUse}", "true");
    const ofSnapshot =
      "apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: snap, namespace: owner";
    const ofClaim = "kind: PersistentVolumeClaim, name: src, namespace: owner";
    await kubectl.apply(claim("restored", "default", `dataSourceRef: {${ofSnapshot}}`));
    await kubectl.apply(claim("cloned", "default", `dataSourceRef: {${ofClaim}}`));
    for (const name of ["restored", "cloned"])
      await eventOf("WaitForDataSource", new RegExp(`from default/${name} isn't allowed: no ReferenceGrant`));
    await kubectl.apply(`
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {name: to-default, namespace: owner}
spec:
  from: [{group: "", kind: PersistentVolumeClaim, namespace: default}]
  to:
    - {group: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: snap}
    - {group: "", kind: PersistentVolumeClaim}
`);
    for (const name of ["restored", "cloned"]) {
      await shows(["pvc", name], "{.status.phase}", "Bound");
      await kubectl.apply(pod(`read-${name}`, "default", name, "cat /d/text"));
      assert.equal((await succeeds(`read-${name}`, "default")).trim(), "from the owner");
      await kubectl.run("delete", `pod/read-${name}`, `pvc/${name}`);
    }
    await kubectl.run("delete", "namespace", "owner");
  },
);
