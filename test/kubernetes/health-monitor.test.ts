import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Events, PersistentVolumeClaims, PersistentVolumes, RestStore } from "@mooring/store";
import { eventually, thorough } from "@mooring/store/testing";
import { type Driver, prepareDriver } from "../csi/support/driver.ts";
import { MooringProcess, plainEnvironment } from "../csi/support/process.ts";
import { attach, capability, detach } from "../csi/support/volumes.ts";
import { claim } from "../support/manifests.ts";
import { sleepersSocket } from "../support/sleepers.ts";
import { programFolder } from "./real/support/components.mjs";
import { startControlPlane } from "./real/support/control-plane.mjs";
import { missingSidecars, sidecarsAdvice, startSidecar } from "./sidecars.ts";
import { prepare } from "./switch-over/cluster.ts";

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const MONITOR = "csi-external-health-monitor-controller";
const SERVER = ["etcd", "kube-apiserver", "kube-controller-manager"];
const CONTROLLERS = [
  ...["persistentvolume-binder-controller", "serviceaccount-controller"],
  ...["persistentvolumeclaim-protection-controller", "persistentvolume-protection-controller"],
];
const NAMESPACE = "default";
/** It reports what is abnormal again each time, and a client of Kubernetes drops what is more than 25 events of one claim. */
const INTERVAL = "15s";
const FULL =
  "nothing is left in the pool: writes fail; delete claims or snapshots, or enlarge it (pool default)";
const LEVEL = /^(?:85|95) % of the pool is used; delete claims or snapshots, or enlarge it \(pool default\)$/;

function missing(): string | undefined {
  const absent = SERVER.filter((name) => !existsSync(join(programFolder(), name)));
  if (absent.length > 0)
    return `${absent.join(" and ")} not in ${programFolder()}; "npm run test:kubernetes" builds them`;
  return missingSidecars([MONITOR]).length > 0 ? sidecarsAdvice([MONITOR]) : undefined;
}

/** What has to be undone, last first. */
type Undo = (() => Promise<unknown>)[];

/** A real API server, our driver with a small pool, what makes its volumes, and the monitor of the Kubernetes project. */
async function start(undo: Undo): Promise<{ store: RestStore; driver: Driver; mooring: MooringProcess }> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-monitor-"));
  undo.push(() => rm(folder, { recursive: true, force: true }));
  const plane = await startControlPlane({
    ...{ folder, bin: programFolder(), only: SERVER, address: undefined, controllers: CONTROLLERS },
  });
  undo.push(() => plane.stop());
  await plane.kubectl("apply", "--server-side", "-f", join(ROOT, "deploy/crds"));
  await plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s");
  const driver = await prepareDriver({ poolSize: "512Mi", args: ["--pool-overcommit", "4"] });
  undo.push(() => driver.dispose());
  await driver.start();
  const store = await RestStore.fromKubeconfig(plane.admin);
  undo.push(async () => store.close());
  await prepare(store, driver);
  const ready = join(folder, "ready");
  const mooring = new MooringProcess(
    [
      ...["controller", "--csi-address", driver.endpoint, "--kubeconfig", plane.admin],
      ...["--controllers", "provision", "--ready-file", ready, "--log-level", "warn"],
    ],
    { ...plainEnvironment(), ...sleepersSocket(join(folder, "sleepers")) },
  );
  undo.push(() => mooring.end());
  await eventually("mooring controller", async () => {
    assert.ok(mooring.alive, mooring.stderr);
    return (await readFile(ready, "utf8").catch(() => "")) !== "";
  });
  const monitor = startSidecar(MONITOR, [
    ...[`--kubeconfig=${plane.admin}`, `--csi-address=${driver.endpoint}`, "--timeout=60s"],
    `--list-volumes-interval=${INTERVAL}`,
  ]);
  undo.push(() => monitor.end());
  return { store, driver, mooring };
}

/** The node's part for a claim's volume. Returns what undoes it, and where the volume is. */
async function mount(driver: Driver, volumeId: string): Promise<{ target: string; end(): Promise<void> }> {
  await attach(driver, volumeId);
  const volumeCapability = capability();
  const stagingTargetPath = driver.path(`staging-${volumeId}`);
  await mkdir(stagingTargetPath, { recursive: true });
  const target = driver.path(`target-${volumeId}`);
  await driver.node.nodeStageVolume({ volumeId, stagingTargetPath, volumeCapability });
  await driver.node.nodePublishVolume({ volumeId, stagingTargetPath, volumeCapability, targetPath: target });
  return {
    target,
    end: async () => {
      await driver.node.nodeUnpublishVolume({ volumeId, targetPath: target });
      await driver.node.nodeUnstageVolume({ volumeId, stagingTargetPath });
      await detach(driver, volumeId);
    },
  };
}

async function createClaim(store: RestStore, name: string, size: string): Promise<string> {
  const key = { namespace: NAMESPACE, name };
  await store.create(PersistentVolumeClaims, claim(NAMESPACE, name, { size, className: "fast" }));
  const bound = await eventually(`${name} to be bound`, async () => {
    const { spec, status } = await store.get(PersistentVolumeClaims, key);
    return status?.phase === "Bound" && spec?.volumeName;
  });
  const { spec } = await store.get(PersistentVolumes, { name: bound });
  return spec?.csi?.volumeHandle ?? "";
}

/** The claim's events: whose, of what type and reason, and their messages. */
async function eventsOf(store: RestStore, name: string): Promise<string[][]> {
  const { items } = await store.list(Events, { namespace: NAMESPACE });
  return items
    .filter(({ involvedObject: { kind, name: of } = {} }) => kind === "PersistentVolumeClaim" && of === name)
    .filter(({ reason }) => reason?.startsWith("VolumeCondition"))
    .map(({ source, type, reason, message }) => [source?.component, type, reason, message].map(String));
}

const ITS = "csi-pv-monitor-controller-csi.mooring.dev";
const ABNORMAL = [ITS, "Warning", "VolumeConditionAbnormal"];

async function reports(store: RestStore, name: string, wanted: readonly string[]): Promise<void> {
  const isReported = async () =>
    (await eventsOf(store, name)).some((event) => wanted.every((text, index) => event[index] === text));
  await eventually(`${name}: ${wanted.join(" ")}`, isReported, {
    ...{ withinMs: 300_000, everyMs: 500 },
    lastSeen: () => eventsOf(store, name),
  });
}

test("a full pool is reported on its claims by the health monitor of the Kubernetes project, and that there is room again", {
  skip: thorough().skip || (missing() ?? false),
}, async (t) => {
  const undo: Undo = [];
  t.after(async () => {
    for (const each of undo.reverse()) await each();
  });
  const { store, driver, mooring } = await start(undo);
  const big = await createClaim(store, "big", "1Gi");
  await createClaim(store, "small", "64Mi");
  const { target, end } = await mount(driver, big);
  const args = ["if=/dev/urandom", `of=${join(target, "file")}`, "bs=1M", "oflag=sync"];
  await assert.rejects(run("dd", args), /error writing/);
  for (const name of ["big", "small"]) await reports(store, name, [...ABNORMAL, FULL]);

  await end();
  await store.delete(PersistentVolumeClaims, { namespace: NAMESPACE, name: "big" });
  await reports(store, "small", [ITS, "Normal", "VolumeConditionNormal"]);
  // Nothing else was wrong, and nobody else has reported anything.
  for (const [component, , reason, message = ""] of await eventsOf(store, "small")) {
    assert.equal(component, ITS);
    if (reason === "VolumeConditionAbnormal") assert.ok(message === FULL || LEVEL.test(message), message);
  }
  await store.delete(PersistentVolumeClaims, { namespace: NAMESPACE, name: "small" });
  await eventually(
    "the volumes to be gone",
    async () => (await store.list(PersistentVolumes)).items.length === 0,
  );
  await mooring.atRest();
});
