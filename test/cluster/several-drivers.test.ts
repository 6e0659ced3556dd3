import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { bundleProgram, eventually as eventuallyOnce, thorough } from "@mooring/store/testing";
import { MooringProcess, plainEnvironment } from "../csi/support/process.ts";
import { sleepersSocket } from "../support/sleepers.ts";
import { clusterServer } from "./support/cluster-server.ts";
import { ALL, DriverProcess } from "./support/driver-process.ts";
import { leftOf } from "./support/left.ts";
import { PATIENT } from "./support/patience.ts";

/** Says in the end what there was instead. */
const eventually = <T>(what: string, probe: () => Promise<T>) =>
  eventuallyOnce(what, probe, { mayThrow: true, ...PATIENT });

const NODE = "several-drivers";
const [A, B, C] = ["a.several.example.com", "b.several.example.com", "c.several.example.com"] as const;
const { kubectl, accountKubeconfig, stop } = await clusterServer();
const folder = await mkdtemp(join(tmpdir(), "mooring-several-"));
const program = await bundleProgram(new URL("support/small-driver.ts", import.meta.url));
const a = new DriverProcess(program.path, join(folder, "a.sock"));
const b = new DriverProcess(program.path, join(folder, "b.sock"));
const started: MooringProcess[] = [];
after(async () => {
  for (const each of started) await each.end("SIGKILL");
  for (const each of [a, b]) await each.leave();
  await program.remove();
  await rm(folder, { recursive: true, force: true });
  await stop();
});

const classesOf = (driver: string) => `
---
{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: ${driver}}, spec: {}}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: ${driver}}, provisioner: ${driver}}
---
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshotClass
metadata: {name: ${driver}}
driver: ${driver}
deletionPolicy: Delete
`;
const nodeWith = (...drivers: string[]) => `
---
{apiVersion: v1, kind: Node, metadata: {name: ${NODE}}}
---
apiVersion: storage.k8s.io/v1
kind: CSINode
metadata: {name: ${NODE}}
spec: {drivers: [${drivers.map((name) => `{name: ${name}, nodeID: n1, topologyKeys: []}`).join(", ")}]}
`;
const claim = (name: string, driver: string) =>
  kubectl.apply(`
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: ${name}, namespace: default}
spec: {accessModes: [ReadWriteOnce], storageClassName: ${driver}, resources: {requests: {storage: 1Mi}}}
`);
const attach = (name: string, driver: string, volume: string) =>
  kubectl.apply(`
apiVersion: storage.k8s.io/v1
kind: VolumeAttachment
metadata: {name: ${name}}
spec: {attacher: ${driver}, nodeName: ${NODE}, source: {persistentVolumeName: ${volume}}}
`);
const snapshot = (name: string, driver: string, of: string) =>
  kubectl.apply(`
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata: {name: ${name}, namespace: default}
spec: {volumeSnapshotClassName: ${driver}, source: {persistentVolumeClaimName: ${of}}}
`);

const attachment = (name: string) => ["volumeattachments.storage.k8s.io", name];
const shows = (target: string[], path: string, wanted: string) =>
  eventually(
    `${target.join(" ")} ${path} to be ${wanted}; ${started.at(-1)?.stderr.slice(-3000)}`,
    async () => (await kubectl.run("get", ...target, "-o", `jsonpath=${path}`)) === wanted,
  );
const bound = async (name: string) => {
  await shows(["pvc", name], "{.status.phase}", "Bound");
  return kubectl.run("get", "pvc", name, "-o", "jsonpath={.spec.volumeName}");
};

/** Until an event of an object says so. */
const reported = (of: string, reason: string, message: RegExp) =>
  eventually(`${reason} of ${of}`, async () => {
    const { items } = JSON.parse(await kubectl.run("get", "events", "-A", "-o", "json")) as {
      items: { reason: string; message: string; involvedObject: { name: string } }[];
    };
    const found = items.filter((each) => each.reason === reason && each.involvedObject.name === of);
    if (found.some((each) => message.test(each.message))) return true;
    throw new Error(found.map((each) => each.message).join("\n"));
  });

let control: MooringProcess;
async function startController(...drivers: DriverProcess[]): Promise<void> {
  const number = started.length;
  const ready = join(folder, `ready-${number}`);
  const kubeconfig = await accountKubeconfig("mooring-controller", join(folder, "kubeconfig"));
  control = new MooringProcess(
    [
      ...["controller", ...drivers.flatMap(({ socket }) => ["--csi-address", socket])],
      ...["--kubeconfig", kubeconfig, "--namespace", "mooring", "--ready-file", ready],
      // A second: how long calls to a driver that hangs take.
      ...["--metrics-listen", "127.0.0.1:0", "--timeout", "1s"],
    ],
    { ...plainEnvironment(), ...sleepersSocket(join(folder, `sleepers-${number}`)) },
  );
  started.push(control);
  await eventually(`the controller; it printed ${control.stderr}`, async () => {
    assert.ok(control.alive, control.stderr);
    return (await readFile(ready, "utf8").catch(() => "")) !== "";
  });
}

/** Until `/metrics` says so of the driver behind the socket. */
const readyMetric = ({ socket }: DriverProcess, value: 0 | 1) =>
  eventually(`${socket} to be ${value}`, async () => {
    const [, port] = /"port":(\d+)[^\n]*serving metrics/.exec(control.stderr) ?? [];
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    const line = metrics.split("\n").find((each) => each.includes(`csi_address="unix://${socket}"`));
    if (line?.endsWith(` ${value}`) !== true) throw new Error(line);
    return true;
  });

/** Everything that a driver can, from a claim to its end: nothing that another one does may hold it up. */
let rounds = 0;
async function aWorks(): Promise<void> {
  const name = `of-a-${rounds++}`;
  await claim(name, A);
  const volume = await bound(name);
  await attach(name, A, volume);
  await shows(attachment(name), "{.status.attached}", "true");
  await snapshot(name, A, name);
  await shows(["volumesnapshot", name], "{.status.readyToUse}", "true");
  await kubectl.run("delete", "volumesnapshot", name, "--timeout=600s");
  await kubectl.run("delete", ...attachment(name), "--timeout=600s");
  await kubectl.run("delete", "pvc", name, "--timeout=600s");
  await eventually(`${volume} to be gone`, async () => {
    const left = await kubectl.run("get", "pv", volume, "--ignore-not-found", "-o", "name");
    return left === "";
  });
}

test(
  "a driver that hangs holds up no other, and is reported by event, metric and on what waits",
  thorough(),
  async () => {
    await kubectl.apply([A, B, C].map(classesOf).join("") + nodeWith(A, B));
    await a.start(A);
    await b.start(B);
    await startController(a, b);
    await claim("before", B);
    const volume = await bound("before");
    b.hang();
    await claim("waits", B);
    await attach("waits", B, volume);
    await aWorks();
    await readyMetric(b, 0);
    await readyMetric(a, 1);
    await reported(B, "CSIDriverNotReady", /b\.sock does not serve: .*see whether its process runs/);
    await reported("waits", "ProvisioningFailed", /did not respond to CreateVolume/);
    await reported("waits", "FailedAttachVolume", /did not respond to ControllerPublishVolume/);
    b.goOn();
    await bound("waits");
    await shows(attachment("waits"), "{.status.attached}", "true");
    await readyMetric(b, 1);
    await reported(B, "CSIDriverReady", /serves again/);
    await control.atRest();
  },
);

test(
  "one that leaves and comes back with less is reported with what is missing, and goes on when it has it",
  thorough(),
  async () => {
    await b.leave();
    await snapshot("early", B, "before");
    await aWorks();
    await readyMetric(b, 0);
    await b.start(
      B,
      ALL.filter((each) => each !== "CREATE_DELETE_SNAPSHOT"),
    );
    await reported(B, "CSIDriverChanged", /no longer has CREATE_DELETE_SNAPSHOT: what needs that waits/);
    await claim("with-less", B);
    await bound("with-less");
    await aWorks();
    // Started anew so soon that no probe has missed it.
    await b.leave();
    await b.start(B);
    await reported(B, "CSIDriverChanged", /it has CREATE_DELETE_SNAPSHOT now/);
    await shows(["volumesnapshot", "early"], "{.status.readyToUse}", "true");
    await control.atRest();
  },
);

test(
  "another driver behind its socket is served by its own name, and the one before is reported",
  thorough(),
  async () => {
    await b.leave();
    await b.start(C);
    await reported(
      B,
      "CSIDriverChanged",
      /has made waits until a driver of that name serves again; start it there/,
    );
    await claim("of-c", C);
    await bound("of-c");
    await claim("of-b", B);
    await aWorks();
    await kubectl.run("delete", "pvc", "of-c", "--timeout=600s");
    await b.leave();
    await b.start(B);
    await bound("of-b");
  },
);

test(
  "one that is removed while claims exist keeps what it has until it is back, and no other's waits",
  thorough(),
  async () => {
    const names = ["before", "waits", "with-less", "of-b"];
    const volume = await bound("of-b");
    await b.leave();
    await kubectl.run("delete", "volumesnapshot", "early", "--wait=false");
    await kubectl.run("delete", ...attachment("waits"), "--wait=false");
    await kubectl.run("delete", "pvc", ...names, "--wait=false");
    await reported(volume, "VolumeFailedDelete", /b\.sock; see whether it runs/);
    await reported("waits", "FailedDetachVolume", /see whether it runs/);
    await aWorks();
    // Nor is its socket named any more.
    assert.equal(await control.end(), 0, control.stderr);
    await startController(a);
    await aWorks();
    assert.equal(await kubectl.run("get", "pv", volume, "-o", "jsonpath={.metadata.name}"), volume);
    assert.equal(await control.end(), 0, control.stderr);
    await b.start(B);
    await startController(a, b);
    await eventually(`everything to be gone; ${control.stderr.slice(-3000)}`, async () => {
      const left = await leftOf(kubectl, A, B, C);
      if (left.length > 0) throw new Error(left.join(" "));
      return true;
    });
    await control.atRest();
    assert.equal(await control.end(), 0, control.stderr);
    assert.doesNotMatch(control.stderr, /forbidden|missing right/i);
    await kubectl.run("delete", "csidrivers", A, B, C);
    await kubectl.run("delete", "storageclasses,volumesnapshotclasses", A, B, C);
    await kubectl.run("delete", "csinodes,nodes", NODE);
  },
);
