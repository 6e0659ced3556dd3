import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { covers, eventually, thorough } from "@mooring/store/testing";
import { serve } from "../../examples/driver-minimal/driver.ts";
import { ScriptedDriver } from "../../packages/sidecars/src/testing/scripted-driver.ts";
import { MooringProcess, plainEnvironment } from "../csi/support/process.ts";
import { afterFile } from "../support/at-end.ts";
import { mooring } from "../support/mooring.ts";
import { sleepersSocket } from "../support/sleepers.ts";
import { world } from "../support/world.ts";

const { up, kubectl, shows, gone } = await world();
const folder = await mkdtemp(join(tmpdir(), "mooring-controller-"));
const socket = join(folder, "csi.sock");
const volumes = join(folder, "volumes");
const driver = await serve(`unix://${socket}`, volumes);
const running: MooringProcess[] = [];
afterFile(async () => {
  await Promise.all(running.map((each) => each.end()));
  await driver.stop();
  await rm(folder, { recursive: true, force: true });
});

/** The control plane around the driver of the example, which is independent of Mooring. */
async function start(...options: string[]): Promise<MooringProcess> {
  const ready = join(folder, `ready-${running.length}`);
  const args = ["--csi-address", socket, "--kubeconfig", up.kubeconfig, "--ready-file", ready, ...options];
  const asked = sleepersSocket(`${ready}.sleepers`);
  const started = new MooringProcess(["controller", ...args], { ...plainEnvironment(), ...asked });
  running.push(started);
  await eventually(`the controller to run; it printed ${started.stderr}`, async () => {
    assert.ok(started.alive, started.stderr);
    return (await readFile(ready, "utf8").catch(() => "")) !== "";
  });
  return started;
}

const storageClass = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: minimal}
provisioner: minimal.example.com
`;

const claim = (name: string) => `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: ${name}}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: minimal
  resources: {requests: {storage: 64Mi}}
`;

const madeBy = (controller: MooringProcess) => {
  const [, port] = /"port":(\d+)[^\n]*serving metrics/.exec(controller.stderr) ?? [];
  return fetch(`http://127.0.0.1:${port}/metrics`).then((response) => response.text());
};

test("one process around a foreign driver makes and deletes its volumes", async () => {
  covers("K8S-030", "K8S-032", "K8S-033");
  const controller = await start("--extra-create-metadata", "--metrics-listen", "127.0.0.1:0");
  assert.match(
    controller.stdout,
    /^controlling minimal\.example\.com 1\.0\.0\n {2}provision, attach, health\n$/,
  );
  await kubectl.apply(storageClass);
  await kubectl.apply(claim("foreign"));
  await shows(["pvc", "foreign"], "{.status.phase}", "Bound");
  const volume = await kubectl.run("get", "pvc", "foreign", "-o", "jsonpath={.spec.volumeName}");
  await shows(["pv", volume], "{.spec.csi.driver}", "minimal.example.com");
  const [made = ""] = await readdir(volumes);
  assert.match(made, /^vol-/);
  assert.match(await readFile(join(volumes, made, "record.json"), "utf8"), /pvc\/name[^,]*,[^,]*foreign/);
  await kubectl.run("delete", "pvc", "foreign");
  await gone("pv", volume);
  assert.deepEqual(await readdir(volumes), []);
  const labels = 'driver_name="minimal.example.com",method_name="/csi.v1.Controller/CreateVolume"';
  const counted = `csi_sidecar_operations_seconds_count{${labels},grpc_status_code="OK"} 1`;
  assert.ok((await madeBy(controller)).includes(counted), counted);
  await controller.atRest();
  assert.equal(await controller.end(), 0);
});

test(
  "what a killed controller left is taken up by the next, and with a lease by the one that waits",
  thorough(),
  async () => {
    const options = ["--leader-election", "--controllers", "provision", "--volume-name-prefix", "vol"];
    const first = await start(...options);
    await kubectl.apply(claim("early"));
    await shows(["pvc", "early"], "{.status.phase}", "Bound");
    const second = await start(...options);
    await first.atRest();
    assert.equal(await first.end(), 0);
    await kubectl.apply(claim("late"));
    await shows(["pvc", "late"], "{.status.phase}", "Bound");
    await shows(["pvc", "late"], "{.spec.volumeName}", /^vol-/);
    assert.equal(await second.end("SIGKILL"), "SIGKILL");
    await kubectl.run("delete", "pvc", "early", "late");
    const third = await start();
    await eventually("the volumes to be gone", async () => (await readdir(volumes)).length === 0);
    await third.atRest();
  },
);

test(
  "a wrong option is refused before anything is reached; a driver that is not there is waited for",
  thorough(),
  async () => {
    const noAddress = await mooring("controller");
    assert.equal(noAddress.code, 2);
    assert.match(noAddress.stderr, /--csi-address/);
    const noController = await mooring(
      "controller",
      "--csi-address",
      socket,
      "--controllers",
      "provision,bind",
    );
    assert.equal(noController.code, 2);
    assert.match(noController.stderr, /there is no bind; there are provision, attach, resize/);
    const absent = join(folder, "absent.sock");
    const waiting = new MooringProcess(
      ["controller", "--csi-address", absent, "--kubeconfig", up.kubeconfig],
      plainEnvironment(),
    );
    running.push(waiting);
    await eventually("it says whom it waits for", async () => waiting.stderr.includes("absent.sock"));
    assert.equal(await waiting.end(), 0);
  },
);

test("/healthz is what the driver responds to a probe, and what is wrong with it", thorough(), async () => {
  const own = await serve(`unix://${join(folder, "probed.sock")}`, join(folder, "probed"));
  const ready = join(folder, "ready-probed");
  const args = ["--csi-address", join(folder, "probed.sock"), "--kubeconfig", up.kubeconfig];
  const controller = new MooringProcess(
    ["controller", ...args, "--controllers", "health", "--ready-file", ready, "--liveness-listen", ":0"],
    plainEnvironment(),
  );
  running.push(controller);
  const healthz = async () => {
    const [, port] = /"port":(\d+)[^\n]*serving liveness/.exec(controller.stderr) ?? [];
    const response = await fetch(`http://127.0.0.1:${port}/healthz`);
    return [response.status, await response.text()] as const;
  };
  await eventually(
    "the controller to run",
    async () => (await readFile(ready, "utf8").catch(() => "")) !== "",
  );
  assert.deepEqual(await healthz(), [200, "ok\n"]);
  await own.stop();
  const [status, why] = await healthz();
  assert.equal(status, 500);
  assert.match(why, /not ready|probed\.sock/);
});

test(
  "several drivers in one process: one is not there, one leaves, and the others work on",
  thorough(),
  async (t) => {
    const second = await ScriptedDriver.start({ name: "second.example.com", can: ["CREATE_DELETE_VOLUME"] });
    t.after(() => second.stop());
    const absent = join(folder, "absent.sock");
    const addresses = ["--csi-address", absent, "--csi-address", second.endpoint];
    const declared = ["--csi-driver", "second.example.com/fsGroupPolicy=None"];
    const listening = ["--metrics-listen", "127.0.0.1:0", "--liveness-listen", "127.0.0.1:0"];
    const controller = await start(...addresses, ...declared, ...listening, "--leader-election");
    const both = ["minimal.example.com", "second.example.com"];
    await eventually(`both to be controlled; printed was ${controller.stdout}`, async () =>
      both.every((name) => controller.stdout.includes(`controlling ${name}`)),
    );
    await kubectl.run("wait", "--for=create", "csidriver/second.example.com", "--timeout=60s");
    await shows(["csidriver", "second.example.com"], "{.spec.fsGroupPolicy}", "None");
    const healthz = async (path: string) => {
      const [, port] = /"port":(\d+)[^\n]*serving liveness/.exec(controller.stderr) ?? [];
      const response = await fetch(`http://127.0.0.1:${port}/healthz${path}`);
      return [response.status, await response.text()] as const;
    };
    assert.deepEqual(await healthz("/second.example.com"), [200, "ok\n"]);
    const [status, why] = await healthz("");
    assert.equal(status, 500);
    assert.match(why, /absent\.sock/);
    assert.equal((await healthz("/third.example.com"))[0], 500);
    await second.pause();
    assert.equal((await healthz("/second.example.com"))[0], 500);
    assert.equal((await healthz("/minimal.example.com"))[0], 200);
    await kubectl.apply(storageClass);
    await kubectl.apply(claim("beside"));
    await shows(["pvc", "beside"], "{.status.phase}", "Bound");
    const metrics = await madeBy(controller);
    for (const [name, address, value] of [
      ["minimal.example.com", `unix://${socket}`, 1],
      ["", `unix://${absent}`, 0],
    ])
      assert.ok(
        metrics.includes(`mooring_driver_ready{csi_address="${address}",driver_name="${name}"} ${value}`),
        metrics,
      );
    const file = join(folder, `ready-${running.indexOf(controller)}`);
    const named = async () => {
      const { drivers } = JSON.parse(await readFile(file, "utf8")) as { drivers: { driver?: string }[] };
      return drivers.map(({ driver: name = "" }) => name).join();
    };
    await eventually(
      "the ready file to name both",
      async () => (await named().catch(() => "")) === "minimal.example.com,,second.example.com",
    );
    await kubectl.run("delete", "pvc", "beside");
    await eventually("its volume to be gone", async () => (await readdir(volumes)).length === 0);
    assert.equal(await controller.end(), 0);
  },
);

test("what goes against several drivers is refused with what to write", thorough(), async () => {
  const two = ["--csi-address", "/a.sock", "--csi-address", "/b.sock"];
  const refused: [string[], RegExp][] = [
    [["--csi-address", "/a.sock", "--csi-address", "unix:///a.sock"], /given twice/],
    [[...two, "--csi-driver", "fsGroupPolicy=File"], /hostpath\.csi\.k8s\.io\/fsGroupPolicy=File/],
    [[...two, "--node-deployment", "--node-name", "n1"], /beside each driver/],
  ];
  for (const [args, advice] of refused) {
    const { code, stderr } = await mooring("controller", ...args);
    assert.equal(code, 2, stderr);
    assert.match(stderr, advice);
  }
});
