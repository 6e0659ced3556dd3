import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { Pools, Volumes } from "@mooring/engine";
import { type CephCluster, eventually, startCeph, withCeph } from "@mooring/store/testing";
import { Kubectl } from "../support/kubectl.ts";
import { mooring } from "../support/mooring.ts";
import { Up } from "../support/up.ts";

const run = promisify(execFile);
const withCluster = await withCeph();
const undo: (() => Promise<void>)[] = [];
// The last one first: volumes are closed while their cluster is there.
after(async () => {
  for (const step of undo.reverse()) await step();
});

interface OnCeph {
  ceph: CephCluster;
  namespace: string;
  up: Up;
  kubectl: Kubectl;
}

/** Every line by which a program is started until it is stopped: of each process, as often as the machine lets it. */
function watchArguments(): () => string {
  const seen = new Set<string>();
  const check = (): void => {
    for (const entry of readdirSync("/proc").filter((name) => /^\d+$/.test(name)))
      try {
        seen.add(readFileSync(`/proc/${entry}/cmdline`, "utf8"));
      } catch {
        // It has ended meanwhile.
      }
  };
  const timer = setInterval(check, 100);
  return () => {
    clearInterval(timer);
    return [...seen].join("\n");
  };
}

async function onCeph(): Promise<OnCeph> {
  const ceph = await startCeph((step) => undo.push(step));
  const namespace = await ceph.namespace();
  const { conf, user, keyring, pool } = ceph;
  const settings = `conf:${conf},user:${user},pool:${pool},namespace:${namespace},keyring:${keyring}`;
  // So long that the process that is killed is there again in time, however slow the machine is.
  const times = ["--lease-duration", "5m", "--node-grace", "10m"];
  const up = await Up.create({ args: ["--rbd-pool", `ceph=${settings}`, ...times] });
  undo.push(() => up.disposeWhole());
  await up.start();
  return { ceph, namespace, up, kubectl: new Kubectl(up.kubeconfig) };
}

const CLASS = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: ceph}
provisioner: csi.mooring.dev
allowVolumeExpansion: true
parameters: {pool: ceph, csi.storage.k8s.io/fstype: xfs}
`;

const claim = (name: string, from?: string): string => `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: ${name}}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: ceph
  resources: {requests: {storage: 400Mi}}
  ${from === undefined ? "" : `dataSource: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: ${from}}`}
`;

const pod = (name: string, claimName: string): string => `
apiVersion: v1
kind: Pod
metadata: {name: ${name}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: host, command: [sleep, "3600"], volumeMounts: [{name: data, mountPath: /data}]}
  volumes: [{name: data, persistentVolumeClaim: {claimName: ${claimName}}}]
`;

const SNAPSHOT = `
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata: {name: snap}
spec: {volumeSnapshotClassName: mooring, source: {persistentVolumeClaimName: live}}
`;

/** Processes that show images of this state folder, with what they were started with. */
async function servers(stateDir: string): Promise<string[]> {
  const { stdout } = await run("ps", ["-eo", "pid,args"]);
  return stdout.split("\n").filter((line) => line.includes("qemu-storage-daemon") && line.includes(stateDir));
}

test(
  "a pod's volume on Ceph: data, growth, snapshot, restore, a killed process, and nothing left",
  withCluster,
  async () => {
    const argumentsSeen = watchArguments();
    undo.push(async () => void argumentsSeen());
    const { ceph, namespace, up, kubectl } = await onCeph();
    const inPod = (name: string, script: string) => kubectl.run("exec", name, "--", "sh", "-c", script);
    const ready = (name: string) =>
      kubectl.run("wait", `pod/${name}`, "--for=condition=Ready", "--timeout=120s");
    await kubectl.apply(`${CLASS}---${claim("live")}---${pod("writer", "live")}`);
    await ready("writer");
    await inPod("writer", "echo kept > /data/f && sync /data/f");

    await kubectl.run(
      "patch",
      "pvc",
      "live",
      "-p",
      '{"spec":{"resources":{"requests":{"storage":"600Mi"}}}}',
    );
    await eventually("the file system to grow under the pod", async () => {
      const [, kilobytes = "0"] = (await inPod("writer", "df -k --output=size /data")).trim().split("\n");
      return Number(kilobytes) > 500 * 1024;
    });

    await kubectl.apply(SNAPSHOT);
    await kubectl.run(
      "wait",
      "volumesnapshot/snap",
      "--for=jsonpath={.status.readyToUse}=true",
      "--timeout=120s",
    );
    await inPod("writer", "echo later > /data/f && sync /data/f");
    await kubectl.apply(
      `${claim("restored", "snap").replace("400Mi", "600Mi")}---${pod("reader", "restored")}`,
    );
    await ready("reader");
    assert.equal(await inPod("reader", "cat /data/f"), "kept\n");

    const before = await servers(up.stateDir);
    assert.equal(before.length, 2);
    await up.end("SIGKILL");
    await up.start();
    await inPod("writer", "cat /data/f && echo more >> /data/f && sync /data/f");
    assert.deepEqual(await servers(up.stateDir), before, "the same processes serve the same images");
    const store = await up.store();
    const volumes = await store.list(Volumes);
    assert.deepEqual(
      volumes.items.map(({ status }) => status?.state),
      ["attached", "attached"],
    );
    const { status } = await store.get(Pools, { name: "ceph" });
    assert.deepEqual([status?.ready, status?.nodes], [true, ["node-a"]]);
    const key = /key = (\S+)/.exec(await readFile(ceph.keyring, "utf8"))?.[1] ?? assert.fail("no key");
    const started = argumentsSeen();
    assert.match(started, /\brbd\0--conf\0/, "its commands were seen");
    const objects = await kubectl.run(
      ...[
        "get",
        "pools,volumes.storage.mooring.dev,snapshots.storage.mooring.dev,pv,pvc,events,leases,nodeagents",
      ],
      ...["--all-namespaces", "--output", "yaml"],
    );
    assert.match(objects, /kind: Event/);
    for (const [where, text] of Object.entries({ started, objects, printed: up.output }))
      assert.ok(!text.includes(key), `the key is in what is ${where}`);

    await kubectl.run("delete", "pod", "writer", "reader", "--timeout=120s");
    await kubectl.run("delete", "volumesnapshot", "snap", "--timeout=120s");
    await kubectl.run("delete", "pvc", "live", "restored", "--timeout=120s");
    const where = ["--pool", ceph.pool, "--namespace", namespace];
    await eventually("the cluster to have nothing of it", async () => {
      const left = await Promise.all([
        ceph.admin("rbd", ...where, "ls"),
        ceph.admin("rbd", ...where, "trash", "ls"),
      ]);
      return left.join("").trim() === "";
    });
    assert.deepEqual(await servers(up.stateDir), []);
  },
);

test("--rbd-pool says what it lacks", withCluster, async () => {
  const { code, stderr } = await mooring("up", "--rbd-pool", "ceph=conf:/etc/ceph/ceph.conf,user:a");
  assert.equal(code, 2);
  assert.match(stderr, /^error: --rbd-pool ceph=.* lacks pool$/m);
});
