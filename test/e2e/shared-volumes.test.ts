import assert from "node:assert/strict";
import { test } from "node:test";
import { covers, eventually } from "@mooring/store/testing";
import { mooring } from "../support/mooring.ts";
import { machineRemains } from "../support/remains.ts";
import { world } from "../support/world.ts";

const { up, kubectl, shows, gone } = await world();

const reader = (name: string, readOnly: boolean, command: string) => `
---
apiVersion: v1
kind: Pod
metadata: {name: ${name}}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers:
    - name: main
      image: host
      command: [sh, -uc, '${command}']
      volumeMounts: [{name: d, mountPath: /d, readOnly: ${readOnly}}]
  volumes: [{name: d, persistentVolumeClaim: {claimName: common}}]`;

/** What an agent finds after another node has served the volume; pod `one` has it mounted all the while. */
async function serversNodeIsLost(name: string): Promise<void> {
  const lost = { status: { state: "running", nodeID: "lost", endpoint: `nfs://192.0.2.1:1/${name}` } };
  const patch = ["--subresource=status", "--type=merge", "-p", JSON.stringify(lost)];
  await kubectl.run("patch", "sharemanagers", name, ...patch);
  await eventually("an event for the claim's user", async () => {
    const fields = "involvedObject.kind=PersistentVolumeClaim,involvedObject.name=common";
    const output = await kubectl.run("get", "events", "--field-selector", fields);
    return /Warning\s+VolumeConditionAbnormal\s.*start the pods that use it again/.test(output);
  });
  const doctor = await mooring("doctor", "--kubeconfig", up.kubeconfig, "--state-dir", up.stateDir);
  assert.match(
    doctor.stdout,
    new RegExp(`Volume ${name} \\(claim default/common\\)\\s+warn\\s+has to be mounted again on node-a`),
  );
  const why = await mooring("why", "pvc/common", "--kubeconfig", up.kubeconfig);
  assert.match(why.stdout, /remount on node node-a .* dead or moved/);
  assert.match(why.stdout, /start the pods again that use the volume on node node-a/);
}

test("several pods use one claim at once; kubectl and mooring why say who serves it, and nothing is left", async () => {
  covers("LHA-058", "LHA-059");
  await kubectl.apply(
    `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: common}
spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 320Mi}}}${reader("one", false, "echo from one > /d/one; until test -e /d/two; do sleep 0.1; done; sleep 100000")}${reader("two", false, "until test -e /d/one; do sleep 0.1; done; cat /d/one; echo from two > /d/two")}${reader("three", true, "until test -e /d/two; do sleep 0.1; done; cat /d/two; touch /d/three || echo readonly")}`,
  );
  await shows(["pod", "two"], "{.status.phase}", "Succeeded");
  await shows(["pod", "three"], "{.status.phase}", "Succeeded");
  assert.equal(await kubectl.run("logs", "two"), "from one\n");
  assert.match(await kubectl.run("logs", "three"), /from two[\s\S]*readonly/);
  const listed = await kubectl.run("get", "sharemanagers");
  assert.match(listed, /STATE\s+NODE\s+USERS\s+ENDPOINT/);
  assert.match(listed, /running\s+node-a\s+\["node-a"\]\s+\d/, "no other node needs a server");
  const name = await kubectl.run("get", "sharemanagers", "-o", "jsonpath={.items[0].metadata.name}");
  const { stdout: why } = await mooring("why", `volume/${name}`, "--kubeconfig", up.kubeconfig);
  assert.match(why, new RegExp(`ShareManager ${name}: node node-a has it for node-a; no other node uses it`));
  await serversNodeIsLost(name);
  await kubectl.run("delete", "pod", "one", "two", "three");
  await shows(["volumes", name], "{.status.remountRequestedAt}", "");
  await shows(["sharemanagers", name], "{.status.state}", "stopped");
  await kubectl.run("delete", "pvc", "common");
  await gone("sharemanagers", name);
  await eventually("nothing of the volume to be left", async () => {
    const remains = await machineRemains(up.stateDir);
    return !JSON.stringify(remains).includes(name);
  });
});

test("a raw claim for many nodes is refused, and its event names what to ask for", async () => {
  await kubectl.apply(`
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: raw-for-all}
spec: {accessModes: [ReadWriteMany], volumeMode: Block, resources: {requests: {storage: 64Mi}}}`);
  await eventually("an event", async () =>
    /needs a file system that one node can serve/.test(await kubectl.run("get", "events")),
  );
  await kubectl.run("delete", "pvc", "raw-for-all");
});
