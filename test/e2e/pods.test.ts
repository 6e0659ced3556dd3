import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { covers, eventually, everyday, thorough } from "@mooring/store/testing";
import { machineRemains, nothingRemains } from "../support/remains.ts";
import { world } from "../support/world.ts";

const { up, kubectl, shows, gone } = await world();

/** Runs a pod that sleeps; with a claim, one of the pod's name is made and mounted at /d. */
async function runSleeping(name: string, { withClaim = false } = {}): Promise<void> {
  const claim = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: ${name}}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 64Mi}}}
---`;
  await kubectl.apply(`${withClaim ? claim : ""}
apiVersion: v1
kind: Pod
metadata: {name: ${name}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: main
      image: host
      command: [sleep, "100000"]
      volumeMounts: [${withClaim ? "{name: d, mountPath: /d}" : ""}]
  volumes: [${withClaim ? `{name: d, persistentVolumeClaim: {claimName: ${name}}}` : ""}]`);
  await shows(["pod", name], "{.status.phase}", "Running");
}

test(
  "a pod sees its volumes as it asked for them: subPath, readOnly, block device, env, user, workingDir",
  everyday(),
  async () => {
    await kubectl.apply(`
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {greeting: hello, file: from a config map}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: files}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 64Mi}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: raw}
spec: {accessModes: [ReadWriteOnce], volumeMode: Block, resources: {requests: {storage: 16Mi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: everything}
spec:
  restartPolicy: Never
  securityContext: {fsGroup: 2000}
  initContainers:
    - name: prepare
      image: host
      command: [sh, -euc, "echo prepared > /all/sub/state; chmod 666 /all/sub/state"]
      volumeMounts: [{name: files, mountPath: /all}, {name: files, mountPath: /all/sub, subPath: sub}]
  containers:
    - name: main
      image: host
      workingDir: /part
      env:
        - {name: GREETING, valueFrom: {configMapKeyRef: {name: settings, key: greeting}}}
        - {name: SELF, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        - {name: BOTH, value: "$(GREETING)-$(SELF)"}
      securityContext: {runAsUser: 1234, runAsGroup: 1234}
      command: [sh, -uc]
      args:
        - |
          echo "both $BOTH"; echo "user $(id -u):$(id -g) $(id -G)"; echo "dir $PWD"; echo "state $(cat state)"
          echo more >> state && echo writable; touch /whole/x 2>/dev/null || echo readonly
          touch /own/mine && echo "mine of $(stat -c %g /own/mine)"
          cat /etc/settings/file; echo; test -b /dev/raw && echo block
          ls -A /proc | grep -c '^[0-9]'
      volumeMounts:
        - {name: files, mountPath: /part, subPath: sub}
        - {name: files, mountPath: /whole, readOnly: true}
        - {name: files, mountPath: /own}
        - {name: settings, mountPath: /etc/settings}
      volumeDevices: [{name: raw, devicePath: /dev/raw}]
  volumes:
    - {name: files, persistentVolumeClaim: {claimName: files}}
    - {name: raw, persistentVolumeClaim: {claimName: raw}}
    - {name: settings, configMap: {name: settings}}
`);
    await shows(["pod", "everything"], "{.status.phase}", /Succeeded|Failed/);
    const log = await kubectl.run("logs", "everything");
    assert.match(log, /both hello-everything/);
    assert.match(log, /user 1234:1234 .*2000/);
    assert.match(log, /dir \/part/);
    assert.match(log, /state prepared/);
    assert.match(log, /writable/);
    assert.match(log, /readonly/);
    // The class names no file system, so the PersistentVolume has none: the CSIDriver has to say that the group counts.
    const volume = await kubectl.run("get", "pvc", "files", "-o", "jsonpath={.spec.volumeName}");
    assert.equal(await kubectl.run("get", "pv", volume, "-o", "jsonpath={.spec.csi.fsType}"), "");
    assert.match(log, /mine of 2000/);
    assert.match(log, /from a config map/);
    assert.match(log, /^block$/m);
    await kubectl.run("delete", "pod/everything", "pvc/files", "pvc/raw");
  },
);

test("exit codes, restarts and phases are reported as Kubernetes reports them", everyday(), async () => {
  const pod = (name: string, policy: string, script: string) =>
    kubectl.apply(`
apiVersion: v1
kind: Pod
metadata: {name: ${name}}
spec:
  restartPolicy: ${policy}
  terminationGracePeriodSeconds: 1
  containers: [{name: main, image: host, command: [sh, -c, '${script}']}]`);
  await pod("fails", "Never", "echo bad >&2; exit 7");
  await shows(["pod", "fails"], "{.status.phase}", "Failed");
  assert.equal(
    await kubectl.run(
      "get",
      "pod",
      "fails",
      "-o",
      "jsonpath={.status.containerStatuses[0].state.terminated.exitCode}",
    ),
    "7",
  );
  assert.equal(await kubectl.run("logs", "fails"), "bad\n");
  await pod("again", "OnFailure", "exit 3");
  await shows(["pod", "again"], "{.status.containerStatuses[0].restartCount}", /^[1-9]/);
  await shows(["pod", "again"], "{.status.containerStatuses[0].lastState.terminated.exitCode}", "3");
  await pod("stays", "Always", 'trap "echo bye; exit 0" TERM; echo up; while :; do sleep 0.1; done');
  await shows(["pod", "stays"], '{.status.conditions[?(@.type=="Ready")].status}', "True");
  assert.match(await kubectl.run("get", "pod", "stays"), /stays\s+1\/1\s+Running\s+0/);
  await kubectl.run("delete", "pod", "fails", "again", "stays");
  await gone("pod", "stays");
});

test("a pod whose image cannot be had stays Pending and reports what to do", thorough(), async () => {
  await kubectl.run("run", "web", "--image=127.0.0.1:1/nginx");
  await shows(["pod", "web"], "{.status.containerStatuses[0].state.waiting.message}", /image: host/);
  await shows(
    ["pod", "web"],
    "{.status.containerStatuses[0].state.waiting.reason}",
    /ErrImagePull|ImagePullBackOff/,
  );
  assert.equal(await kubectl.run("get", "pod", "web", "-o", "jsonpath={.status.phase}"), "Pending");
  await kubectl.run("delete", "pod", "web");
});

test("a deleted pod's volumes are unpublished, unstaged and detached", thorough(), async () => {
  await runSleeping("brief", { withClaim: true });
  assert.match(
    await kubectl.run("get", "volumeattachments.storage.k8s.io"),
    /csi\.mooring\.dev\s+pvc-.*\s+node-a\s+true/,
  );
  await kubectl.run("delete", "pod", "brief");
  await eventually(
    "the volume to be detached",
    async () =>
      (await kubectl.run("get", "volumes.storage.mooring.dev", "-o", "jsonpath={.items[*].status.state}")) ===
      "detached",
  );
  assert.equal(
    (await machineRemains(up.stateDir)).filter((line) => /kubelet.(pods|plugins)/.test(line)).length,
    0,
  );
  await kubectl.run("delete", "pvc", "brief");
});

test(
  "kill -9 of mooring leaves pods running; the next one adopts the very same processes",
  everyday(),
  async () => {
    await kubectl.apply(`
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: survivor}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 64Mi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: survivor}
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: main
      image: host
      command: [sh, -c, "echo born; while :; do echo x >> /d/beats; sleep 0.1; done"]
      volumeMounts: [{name: d, mountPath: /d}]
  volumes: [{name: d, persistentVolumeClaim: {claimName: survivor}}]`);
    await shows(["pod", "survivor"], "{.status.phase}", "Running");
    const id = await kubectl.run(
      "get",
      "pod",
      "survivor",
      "-o",
      "jsonpath={.status.containerStatuses[0].containerID}",
    );
    await up.end("SIGKILL");
    await up.start();
    await shows(["pod", "survivor"], '{.status.conditions[?(@.type=="Ready")].status}', "True");
    assert.equal(
      await kubectl.run(
        "get",
        "pod",
        "survivor",
        "-o",
        "jsonpath={.status.containerStatuses[0].containerID}",
      ),
      id,
    );
    assert.equal(
      await kubectl.run(
        "get",
        "pod",
        "survivor",
        "-o",
        "jsonpath={.status.containerStatuses[0].restartCount}",
      ),
      "0",
    );
    assert.equal(await kubectl.run("logs", "survivor"), "born\n");
    await kubectl.run("delete", "pod/survivor", "pvc/survivor");
  },
);

test("a clean stop releases everything; the next start runs the pods again", thorough(), async () => {
  await runSleeping("lasting");
  // A program that has just begun has no arguments for a moment.
  await eventually(
    "the pod's program",
    async () => /^\d+ sleep 100000$/m.test((await machineRemains(up.stateDir)).join("\n")),
    { lastSeen: () => machineRemains(up.stateDir) },
  );
  assert.equal(await up.end("SIGTERM"), 0);
  await nothingRemains(up.stateDir);
  await up.start();
  await shows(["pod", "lasting"], '{.status.conditions[?(@.type=="Ready")].status}', "True");
  await kubectl.run("delete", "pod", "lasting");
});

test(
  "who wrote which part of an attachment can be read: spec by the cluster, status by the attacher",
  everyday(),
  async () => {
    covers("K8S-055", "K8S-059");
    await runSleeping("owned", { withClaim: true });
    const list = JSON.parse(
      await kubectl.run("get", "volumeattachments.storage.k8s.io", "-o", "json", "--show-managed-fields"),
    );
    const [attachment] = list.items;
    const writers = (field: string): string[] =>
      attachment.metadata.managedFields
        .filter((entry: { fieldsV1: object }) => field in entry.fieldsV1)
        .map((entry: { manager: string }) => entry.manager);
    assert.deepEqual(writers("f:spec"), ["kube-controller-manager"]);
    assert.deepEqual(writers("f:status"), ["external-csi.mooring.dev"]);
    await kubectl.run("delete", "pod/owned", "pvc/owned");
  },
);

/** As the kernel says it, whatever Mooring makes of it. */
async function hasAppArmor(): Promise<boolean> {
  const enabled = await readFile("/sys/module/apparmor/parameters/enabled", "utf8").catch(() => "N");
  return enabled.trim() === "Y";
}

test(
  "a pod has the AppArmor profile that it asks for, or does not run and says why",
  thorough(),
  async () => {
    await kubectl.apply(`
apiVersion: v1
kind: Pod
metadata: {name: profiled}
spec:
  restartPolicy: Never
  containers:
    - name: main
      image: host
      securityContext: {appArmorProfile: {type: RuntimeDefault}}
      command: [cat, /proc/self/attr/current]
`);
    if (await hasAppArmor()) {
      await shows(["pod", "profiled"], "{.status.phase}", /Succeeded/);
      assert.match(await kubectl.run("logs", "profiled"), /^mooring-default \(enforce\)/);
    } else {
      const why =
        /containers\[0\]\.securityContext\.appArmorProfile: cannot enforce AppArmor: AppArmor is not enabled on the host/;
      await shows(["pod", "profiled"], "{.status.containerStatuses[0].state.waiting.message}", why);
      assert.equal(await kubectl.run("get", "pod", "profiled", "-o", "jsonpath={.status.phase}"), "Pending");
    }
    await kubectl.run("delete", "pod", "profiled");
  },
);
