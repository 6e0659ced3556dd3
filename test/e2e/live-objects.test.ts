import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { eventually, everyday, thorough } from "@mooring/store/testing";
import { requestToken } from "../../packages/standalone/src/kubelet/volumes/request-token.ts";
import { KUBECTL } from "../support/kubectl.ts";
import { world } from "../support/world.ts";

const { up, kubectl, shows, gone } = await world();

/** A container that prints a line for each thing it waits for. */
const WATCHER = `
apiVersion: v1
kind: ConfigMap
metadata: { name: settings }
data: { colour: red }
---
apiVersion: v1
kind: Secret
metadata: { name: keys }
stringData: { key: old }
---
apiVersion: v1
kind: Pod
metadata: { name: watcher }
spec:
  restartPolicy: Never
  containers:
    - name: main
      image: host
      command: [/bin/sh, -eu, -c]
      args:
        - |
          while [ "$(cat /settings/colour)" != blue ]; do sleep 0.05; done; echo colour
          while [ "$(cat /all/keys/key)" != new ]; do sleep 0.05; done; echo key
          while ! grep -q 'moon="full"' /all/labels; do sleep 0.05; done; echo label
          while [ ! -e /settings/gone ]; do sleep 0.05; done; cat /settings/colour; echo
      volumeMounts:
        - { name: settings, mountPath: /settings }
        - { name: all, mountPath: /all }
  volumes:
    - { name: settings, configMap: { name: settings } }
    - name: all
      projected:
        sources:
          - secret: { name: keys, items: [{ key: key, path: keys/key }] }
          - downwardAPI: { items: [{ path: labels, fieldRef: { fieldPath: metadata.labels } }] }
`;

test(
  "running containers see changed ConfigMaps, Secrets and labels, and keep what was deleted",
  everyday(),
  async () => {
    await kubectl.apply(WATCHER);
    await shows(["pod", "watcher"], "{.status.phase}", "Running");
    const logs = () => kubectl.run("logs", "watcher");
    const says = (line: RegExp) => eventually(`the pod to say ${line}`, async () => line.test(await logs()));
    await kubectl.run("patch", "configmap", "settings", "-p", '{"data":{"colour":"blue"}}');
    await says(/^colour$/m);
    await kubectl.run("patch", "secret", "keys", "-p", '{"stringData":{"key":"new"}}');
    await says(/^key$/m);
    await kubectl.run("label", "pod", "watcher", "moon=full");
    await says(/^label$/m);
    await kubectl.run("delete", "secret", "keys");
    await shows(["events"], "{.items[?(@.reason=='FailedMount')].message}", /secret "keys" not found/);
    await kubectl.run("patch", "configmap", "settings", "-p", '{"data":{"gone":""}}');
    await says(/^blue$/m);
    await shows(["pod", "watcher"], "{.status.phase}", "Succeeded");
  },
);

test("a pod gets a token for its service account, which ends with it", everyday(), async () => {
  await kubectl.apply(`
apiVersion: v1
kind: ServiceAccount
metadata: { name: robot }
---
apiVersion: v1
kind: Pod
metadata: { name: robot }
spec:
  serviceAccountName: robot
  terminationGracePeriodSeconds: 1
  containers:
    - name: main
      image: host
      command: [/bin/sh, -c, "cat /token/token; exec sleep 100000"]
      volumeMounts: [{ name: token, mountPath: /token }]
  volumes:
    - { name: token, projected: { sources: [{ serviceAccountToken: { path: token, expirationSeconds: 600 } }] } }
`);
  await shows(["pod", "robot"], "{.status.phase}", "Running");
  const token = await eventually("the token", async () => (await kubectl.run("logs", "robot")) || undefined);
  assert.equal(await whoIs(token), "system:serviceaccount:default:robot");
  const { uid } = JSON.parse(await kubectl.run("get", "pod", "robot", "-o", "jsonpath={.metadata}"));
  const account = await kubectl.run("get", "sa", "robot", "-o", "jsonpath={.metadata.uid}");
  // What the kubelet of another machine does.
  const asked = await requestToken(await up.store())(
    {
      namespace: "default",
      account: { name: "robot", uid: account },
      audiences: [],
      seconds: 600,
      boundTo: { kind: "Pod", name: "robot", uid },
    },
    new Date(),
  );
  assert.equal(await whoIs(asked.token), "system:serviceaccount:default:robot");
  await kubectl.run("delete", "pod", "robot");
  await gone("pod", "robot");
  for (const ended of [token, asked.token])
    await assert.rejects(whoIs(ended), /Unauthorized|must be logged in/);
});

/** The user that the API server takes the bearer of a token for. */
async function whoIs(token: string): Promise<string> {
  const file = join(up.stateDir, "robot-kubeconfig");
  const theirs = (await readFile(up.kubeconfig, "utf8")).replace(/token: .*/, `token: ${token}`);
  await writeFile(file, theirs, { mode: 0o600 });
  const path = "jsonpath={.status.userInfo.username}";
  return (await promisify(execFile)(KUBECTL, ["--kubeconfig", file, "auth", "whoami", "-o", path])).stdout;
}

test(
  "requests that no node has room for leave a pod Pending, with the reason and what to do",
  everyday(),
  async () => {
    const resources = { requests: { cpu: "4k", memory: "1Pi" } };
    await kubectl.apply(
      JSON.stringify({
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "greedy" },
        spec: { containers: [{ name: "main", image: "host", command: ["sleep", "1000"], resources }] },
      }),
    );
    await shows(
      ["pod", "greedy"],
      "{.status.phase} {.status.conditions[0].reason} {.status.conditions[0].message}",
      /^Pending Unschedulable 0\/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory\. /,
    );
    await kubectl.run("delete", "pod", "greedy");
  },
);

test("a server-side dry run of drain evicts nobody; a real one does", thorough(), async () => {
  await kubectl.run("run", "stays", "--image=host", "--", "sleep", "1000");
  await shows(["pod", "stays"], "{.status.phase}", "Running");
  const uid = await kubectl.run("get", "pod", "stays", "-o", "jsonpath={.metadata.uid}");
  const drain = ["drain", "node-a", "--force", "--grace-period=1"];
  await kubectl.run(...drain, "--dry-run=server");
  const after = ["{.metadata.uid}", "{.metadata.deletionTimestamp}"].join("");
  assert.equal(await kubectl.run("get", "pod", "stays", "-o", `jsonpath=${after}`), uid);
  await kubectl.run(...drain);
  await gone("pod", "stays");
  await kubectl.run("uncordon", "node-a");
});
