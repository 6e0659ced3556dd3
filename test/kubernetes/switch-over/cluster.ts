import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  CSINodes,
  type KubeObject,
  Nodes,
  type Resource,
  RestStore,
  StorageClasses,
  VolumeGroupSnapshotClasses,
  VolumeSnapshotClasses,
} from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import {
  csiNode,
  groupClass,
  node,
  snapshotClass,
  storageClass,
} from "../../../packages/sidecars/src/testing/objects.ts";
import { type Driver, NODE, prepareDriver } from "../../csi/support/driver.ts";
import { MooringProcess, plainEnvironment } from "../../csi/support/process.ts";
import { sleepersSocket } from "../../support/sleepers.ts";
import { programFolder } from "../real/support/components.mjs";
import { startControlPlane } from "../real/support/control-plane.mjs";
import { missingSidecars, type Sidecar, sidecarsAdvice, startSidecar } from "../sidecars.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const SIDECARS = ["csi-provisioner", "csi-attacher", "csi-resizer", "csi-snapshotter", "snapshot-controller"];
const SERVER = ["etcd", "kube-apiserver", "kube-controller-manager"];
/** Those for claims and volumes, and one by which it is known to work. Others would detach what no pod asks for. */
const CONTROLLERS = [
  ...["persistentvolume-binder-controller", "serviceaccount-controller"],
  ...["persistentvolumeclaim-protection-controller", "persistentvolume-protection-controller"],
];
export const DRIVER = "csi.mooring.dev";

/** Why this cannot be tested here. */
export function missing(): string | undefined {
  const absent = SERVER.filter((name) => !existsSync(join(programFolder(), name)));
  if (absent.length > 0)
    return `${absent.join(" and ")} not in ${programFolder()}; "npm run test:kubernetes" builds them`;
  return missingSidecars(SIDECARS).length > 0 ? sidecarsAdvice(SIDECARS) : undefined;
}

/** What calls the driver: the sidecars of the Kubernetes project, or Mooring. */
export interface ControlPlane {
  end(signal: "SIGTERM" | "SIGKILL"): Promise<void>;
}

/** A real API server, a driver with real volumes, and nobody between them yet. */
export interface Cluster {
  store: RestStore;
  driver: Driver;
  /** As docs/tasks/switch-over.md has them. */
  startSidecars(): Promise<ControlPlane>;
  startMooring(): Promise<ControlPlane>;
  end(): Promise<void>;
}

/** The kubelet's part is played by the test. */
export async function startCluster(): Promise<Cluster> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-switch-"));
  const undo: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  /** All of it, whatever fails; throws the first failure. */
  const end = async () => {
    const failures: unknown[] = [];
    for (const each of undo.splice(0).reverse()) await each().catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw failures[0];
  };
  try {
    const bin = programFolder();
    const plane = await startControlPlane({
      ...{ folder, bin, only: SERVER, address: undefined, controllers: CONTROLLERS },
    });
    undo.push(() => plane.stop());
    await plane.kubectl("apply", "--server-side", "-f", join(ROOT, "deploy/crds"));
    await plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s");
    const driver = await prepareDriver({ poolSize: "8Gi" });
    undo.push(() => driver.dispose());
    await driver.start();
    const store = await RestStore.fromKubeconfig(plane.admin);
    undo.push(async () => store.close());
    await prepare(store, driver);
    const input = { folder, kubeconfig: plane.admin, endpoint: driver.endpoint };
    return {
      ...{ store, driver, end },
      startSidecars: async () => startSidecars(input),
      startMooring: () => startMooring(input),
    };
  } catch (error) {
    await end().catch(() => {});
    throw error;
  }
}

/** The node with the driver, and classes whose names are those that `Work` asks for. */
export async function prepare(store: RestStore, driver: Driver): Promise<void> {
  const { accessibleTopology } = await driver.node.nodeGetInfo({});
  const segments = { ...accessibleTopology?.segments };
  const parameters = { "csi.storage.k8s.io/fstype": "ext4" };
  const objects: [Resource, KubeObject][] = [
    [Nodes, node(NODE, segments)],
    [CSINodes, named(csiNode(NODE, Object.keys(segments), NODE))],
    [StorageClasses, growing(storageClass({ provisioner: DRIVER, parameters }))],
    [VolumeSnapshotClasses, snapshotClass({ driver: DRIVER })],
    [VolumeGroupSnapshotClasses, groupClass({ driver: DRIVER })],
  ];
  for (const [resource, object] of objects) await store.create(resource, object);
}

const growing = (of: KubeObject): KubeObject & { allowVolumeExpansion: boolean } => ({
  ...of,
  allowVolumeExpansion: true,
});

/** The sample is of the driver of unit tests. */
function named(of: ReturnType<typeof csiNode>): ReturnType<typeof csiNode> {
  const drivers = (of.spec?.drivers ?? []).map((each) => ({ ...each, name: DRIVER }));
  return { ...of, spec: { ...of.spec, drivers } };
}

interface Input {
  folder: string;
  kubeconfig: string;
  endpoint: string;
}

function startSidecars({ kubeconfig, endpoint }: Input): ControlPlane {
  const running: Sidecar[] = SIDECARS.map((name) =>
    startSidecar(name, [
      ...[`--kubeconfig=${kubeconfig}`, "--leader-election", "--leader-election-namespace=kube-system"],
      ...["--kube-api-qps=100", "--kube-api-burst=200"],
      ...(name === "snapshot-controller" ? [] : [`--csi-address=${endpoint}`, "--timeout=60s"]),
    ]),
  );
  return { end: async (signal) => void (await Promise.all(running.map((each) => each.end(signal)))) };
}

async function startMooring({ folder, kubeconfig, endpoint }: Input): Promise<ControlPlane> {
  const ready = join(folder, "ready");
  await rm(ready, { force: true });
  const args = ["--csi-address", endpoint, "--kubeconfig", kubeconfig, "--ready-file", ready];
  const controller = new MooringProcess(["controller", ...args, "--leader-election", "--log-level", "warn"], {
    ...plainEnvironment(),
    ...sleepersSocket(join(folder, "sleepers")),
  });
  await eventually("mooring controller to be ready", async () => {
    if (!controller.alive) throw new Error(`mooring controller has ended: ${controller.stderr}`);
    return (await readFile(ready, "utf8").catch(() => "")) !== "";
  });
  return {
    async end(signal) {
      if (!controller.alive) throw new Error(`mooring controller has ended: ${controller.stderr}`);
      if (signal === "SIGTERM") await controller.atRest();
      await controller.end(signal);
    },
  };
}
