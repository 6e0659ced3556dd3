import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, type TestContext, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { connect } from "@mooring/csi";
import { type CephCluster, eventually, startCeph, withCeph } from "@mooring/store/testing";
import { KUBECTL, Kubectl } from "../support/kubectl.ts";
import { mooring } from "../support/mooring.ts";
import { Up } from "../support/up.ts";
import { type CephDaemon, killDaemon } from "./support/ceph-daemons.ts";
import { rbdSettings } from "./support/settings.ts";

const withCluster = await withCeph();
const undo: (() => Promise<void>)[] = [];
// The last one first: volumes are closed while their cluster is there.
after(async () => {
  for (const step of undo.reverse()) await step();
});
/** However slow the machine is. */
const PATIENT = { withinMs: 300_000 };
/** How long an OSD keeps writes; what is killed or full is so for a while. */
const [SLOW_MS, GONE_MS] = [60_000, 20_000];

const objects = (name: string, pool: string): string => `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: ${pool}}
provisioner: csi.mooring.dev
parameters: {pool: ${pool}}
---
apiVersion: v1
kind: Pod
metadata: {name: ${name}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: host, command: [sleep, "36000"], volumeMounts: [{name: data, mountPath: /data}]}
  volumes: [{name: data, persistentVolumeClaim: {claimName: ${name}}}]
---
${claim(name, pool)}`;

function claim(name: string, pool: string): string {
  return `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: ${name}}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: ${pool}
  resources: {requests: {storage: 64Mi}}
`;
}

/** Appends numbers to a file of a pod's volume, and says of each when it is on the disk. */
class Appender {
  /** The last number that was acknowledged. */
  last = 0;
  readonly #child: ChildProcess;

  constructor(kubeconfig: string, pod: string, log: string) {
    const script = `n=0; while [ ! -e ${log}.end ]; do n=$((n+1)); echo $n >> ${log} && sync ${log} && echo $n || exit 1; sleep 0.1; done`;
    const args = ["--kubeconfig", kubeconfig, "exec", pod, "--", "sh", "-c", script];
    const child = spawn(KUBECTL, args, { stdio: ["ignore", "pipe", "inherit"] });
    this.#child = child;
    createInterface({ input: child.stdout }).on("line", (line) => {
      this.last = Number(line);
    });
  }

  /** Resolves when it has gone on from where it is. */
  async goesOn(): Promise<void> {
    const from = this.last;
    await eventually(`a number after ${from}`, async () => this.last > from + 3, PATIENT);
  }

  async ended(): Promise<number | null> {
    if (this.#child.exitCode === null) await once(this.#child, "exit");
    return this.#child.exitCode;
  }
}

/** What is said of a cluster while something has happened to it, and what makes it happen: that resolves with how it is over. */
interface Fault {
  said: RegExp;
  /** At least; milliseconds. */
  lasts: number;
  begin(ceph: CephCluster): Promise<() => unknown>;
}
const SILENT = /the Ceph cluster of images\/\S+ does not respond/;
const FULL =
  /the Ceph pool (of )?images\S* is full|Raise its quota \(ceph osd pool set-quota images max_bytes/;
// The killed OSD last: the cluster's own way of silencing it knows only the one that it has started.
const FAULTS: Readonly<Record<string, Fault>> = {
  "its OSD holds all writes": { said: SILENT, lasts: SLOW_MS, begin: async (ceph) => ceph.silence() },
  "its pool is full": { said: FULL, lasts: GONE_MS, begin: fill },
  "its monitor is killed": { said: SILENT, lasts: GONE_MS, begin: (ceph) => kill(ceph, "ceph-mon") },
  "its OSD is killed": { said: SILENT, lasts: GONE_MS, begin: (ceph) => kill(ceph, "ceph-osd") },
};

/** By a quota that is less than the pool has already. */
async function fill(ceph: CephCluster): Promise<() => Promise<unknown>> {
  const quota = (bytes: number) =>
    ceph.admin("ceph", "osd", "pool", "set-quota", ceph.pool, "max_bytes", String(bytes));
  await quota(1);
  await eventually("the cluster to call its pool full", async () => {
    const pools = await ceph.admin("ceph", "osd", "pool", "ls", "detail", "--format", "json");
    return /"flags_names":"[^"]*\bfull\b/.test(pools);
  });
  return () => quota(0);
}

async function kill(ceph: CephCluster, daemon: CephDaemon): Promise<() => void> {
  const restart = await killDaemon(ceph, daemon);
  return () => {
    const child = restart();
    // Volumes are closed while it is there.
    undo.splice(1, 0, async () => {
      child.kill("SIGKILL");
    });
  };
}

interface Scene {
  ceph: CephCluster;
  kubectl: Kubectl;
  up: Up;
  inPod(name: string, script: string): Promise<string>;
}

let opening: Promise<Scene> | undefined;
const scene = (): Promise<Scene> => {
  opening ??= open();
  return opening;
};

async function open(): Promise<Scene> {
  const ceph = await startCeph((step) => undo.push(step));
  const settings = await rbdSettings(ceph);
  const up = await Up.create({ args: ["--rbd-pool", `ceph=${settings}`] });
  undo.push(() => up.disposeWhole());
  await up.start();
  const kubectl = new Kubectl(up.kubeconfig);
  const inPod = (name: string, script: string) => kubectl.run("exec", name, "--", "sh", "-c", script);
  await kubectl.apply(`${objects("live", "ceph")}---${objects("beside", "default")}`);
  await ready(kubectl, "live", "beside");
  return { ceph, kubectl, up, inPod };
}

const ready = (kubectl: Kubectl, ...pods: string[]) =>
  kubectl.run("wait", ...pods.map((pod) => `pod/${pod}`), "--for=condition=Ready", "--timeout=300s");

/** What a user finds who asks what is the matter; and that one who has no volume there notices nothing. */
async function whileItLasts({ kubectl, up, inPod }: Scene, said: RegExp, t: TestContext): Promise<void> {
  await inPod("beside", "echo here > /data/f && sync /data/f");
  // Its call has a deadline: a Probe that waits for the cluster fails the test.
  const driver = await connect(`unix://${join(up.stateDir, "csi.sock")}`, { timeoutMs: 60_000 });
  try {
    for (let call = 0; call < 20; call++) await driver.identity.probe({});
  } finally {
    driver.close();
  }
  await kubectl.apply(`${claim("asked", "ceph")}---${objects("new", "default")}`);
  await ready(kubectl, "new");
  const from = ["--kubeconfig", up.kubeconfig];
  const nameIt = async (...command: string[]): Promise<void> => {
    let text = "";
    await eventually(
      `${command.join(" ")} to name the cluster`,
      async () => {
        const { stdout, stderr } = await mooring(...command, ...from);
        text = stdout + stderr;
        return said.test(text);
      },
      { ...PATIENT, everyMs: 2000, lastSeen: () => text },
    );
  };
  await nameIt("why", "pvc/asked");
  await nameIt("doctor", "--state-dir", up.stateDir);
  await kubectl.run("delete", "pod/new", "pvc/new", "--timeout=300s");
  t.diagnostic("why and doctor name it, and other volumes are made and deleted");
}

for (const [index, [name, fault]] of Object.entries(FAULTS).entries())
  test(
    `${name}: nothing acknowledged is lost, nothing is stuck after it, and other pools notice nothing`,
    withCluster,
    async (t) => {
      const at = await scene();
      const { ceph, kubectl, up, inPod } = at;
      const log = `/data/log-${index}`;
      const appender = new Appender(up.kubeconfig, "live", log);
      t.after(() => inPod("live", `touch ${log}.end`));
      await appender.goesOn();
      const begun = performance.now();
      const over = await fault.begin(ceph);
      try {
        await whileItLasts(at, fault.said, t);
        const left = fault.lasts - (performance.now() - begun);
        if (left > 0) await setTimeout(left);
      } finally {
        await over();
      }
      await appender.goesOn();
      await inPod("live", `touch ${log}.end`);
      assert.equal(await appender.ended(), 0);
      const lines = (await inPod("live", `cat ${log}`)).trim().split("\n").map(Number);
      assert.deepEqual(
        lines,
        Array.from({ length: appender.last }, (_, index) => index + 1),
      );
      await kubectl.run("wait", "pvc/asked", "--for=jsonpath={.status.phase}=Bound", "--timeout=300s");
      await kubectl.run("delete", "pvc/asked", "--timeout=300s");
      await eventually(
        "doctor to find the pool well",
        async () => {
          const { stdout } = await mooring(
            "doctor",
            "--state-dir",
            up.stateDir,
            "--kubeconfig",
            up.kubeconfig,
          );
          return /Pool ceph/.test(stdout) && !fault.said.test(stdout);
        },
        { ...PATIENT, everyMs: 2000 },
      );
    },
  );
