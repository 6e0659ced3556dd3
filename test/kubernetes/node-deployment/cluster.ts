import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
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
  VolumeSnapshotClasses,
} from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { MooringProcess, plainEnvironment } from "../../csi/support/process.ts";
import { sleepersSocket } from "../../support/sleepers.ts";
import { programFolder } from "../real/support/components.mjs";
import { startControlPlane } from "../real/support/control-plane.mjs";
import { missingSidecars, sidecarsAdvice, startSidecar } from "../sidecars.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const SERVER = ["etcd", "kube-apiserver", "kube-controller-manager"];
const PROGRAMS = ["hostpathplugin", "csi-provisioner", "csi-snapshotter", "snapshot-controller"];
const CONTROLLERS = [
  ...["persistentvolume-binder-controller", "serviceaccount-controller", "garbage-collector-controller"],
  ...["persistentvolumeclaim-protection-controller", "persistentvolume-protection-controller"],
];
/** Of csi-driver-host-path, a driver of somebody else's whose volumes are on its node only. */
export const DRIVER = "hostpath.csi.k8s.io";
const TOPOLOGY_KEY = "topology.hostpath.csi/node";

export const NODES = ["n1", "n2"] as const;
export type NodeName = (typeof NODES)[number];

/** Why this cannot be tested here. */
export function missing(): string | undefined {
  const absent = SERVER.filter((name) => !existsSync(join(programFolder(), name)));
  if (absent.length > 0)
    return `${absent.join(" and ")} not in ${programFolder()}; "npm run test:kubernetes" builds them`;
  return missingSidecars(PROGRAMS).length > 0 ? sidecarsAdvice(PROGRAMS) : undefined;
}

/** A real API server, and two nodes of which each has a driver with volumes of its own. No kubelet, no scheduler. */
export interface Cluster {
  store: RestStore;
  kubectl(...args: string[]): Promise<string>;
  /** `mooring controller` beside the driver of a node. */
  mooring(node: NodeName, ...options: string[]): Promise<MooringProcess>;
  /** A sidecar of the Kubernetes project beside it; snapshot-controller has no driver. */
  sidecar(name: string, node?: NodeName): void;
  /** Ids of the volumes and snapshots that the driver of a node has. */
  dataOn(node: NodeName): Promise<string[]>;
  end(): Promise<void>;
}

/** `room`: bytes that the volumes on each node may have together. */
export async function startCluster(room: Record<NodeName, string>): Promise<Cluster> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-own-nodes-"));
  const undo: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  /** All of it, whatever fails; throws the first failure. */
  const end = async () => {
    const failures: unknown[] = [];
    for (const each of undo.splice(0).reverse()) await each().catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw failures[0];
  };
  const stateOf = (node: NodeName) => join(folder, node, "state");
  const socketOf = (node: NodeName) => join(folder, node, "csi.sock");
  try {
    const plane = await startControlPlane({
      ...{ folder, bin: programFolder(), only: SERVER, address: undefined, controllers: CONTROLLERS },
    });
    undo.push(() => plane.stop());
    await plane.kubectl("apply", "--server-side", "-f", join(ROOT, "deploy/crds"));
    await plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s");
    for (const node of NODES) {
      await mkdir(stateOf(node), { recursive: true });
      const driver = startSidecar("hostpathplugin", [
        ...[`--endpoint=unix://${socketOf(node)}`, `--nodeid=${node}`, `--statedir=${stateOf(node)}`],
        `--capacity=disk=${room[node]}`,
      ]);
      undo.push(() => driver.end("SIGTERM"));
      await eventually(`the driver of ${node}`, () => existsSync(socketOf(node)));
    }
    const store = await RestStore.fromKubeconfig(plane.admin);
    undo.push(async () => store.close());
    for (const [resource, object] of objects()) await store.create(resource, object);
    let started = 0;
    return {
      ...{ store, end, kubectl: plane.kubectl },
      async mooring(node, ...options) {
        const number = started++;
        const ready = join(folder, `ready-${number}`);
        const controller = new MooringProcess(
          [
            ...["controller", "--csi-address", socketOf(node), "--kubeconfig", plane.admin],
            ...["--ready-file", ready, "--log-level", "warn", ...options],
          ],
          { ...plainEnvironment(), ...sleepersSocket(join(folder, `sleepers-${number}`)) },
        );
        undo.push(async () => {
          if (controller.alive) await controller.atRest().finally(() => controller.end());
        });
        await eventually(`mooring controller of ${node}`, async () => {
          if (!controller.alive) throw new Error(`mooring controller has ended: ${controller.stderr}`);
          return (await readFile(ready, "utf8").catch(() => "")) !== "";
        });
        return controller;
      },
      sidecar(name, node) {
        const beside = node === undefined ? ["--enable-distributed-snapshotting"] : [];
        const driver = node === undefined ? [] : [`--csi-address=${socketOf(node)}`, "--node-deployment"];
        const delays = name === "csi-provisioner" ? ["--node-deployment-base-delay=1s"] : [];
        const env = node === undefined ? undefined : { NODE_NAME: node };
        const args = [`--kubeconfig=${plane.admin}`, ...beside, ...driver, ...delays];
        const sidecar = startSidecar(name, args, env);
        undo.push(() => sidecar.end());
      },
      dataOn: async (node) => (await readdir(stateOf(node))).filter((name) => name !== "state.json"),
    };
  } catch (error) {
    await end().catch(() => {});
    throw error;
  }
}

function objects(): [Resource, KubeObject][] {
  const storageClass = (name: string, volumeBindingMode: string): [Resource, KubeObject] => [
    StorageClasses,
    {
      ...{ apiVersion: "storage.k8s.io/v1", kind: "StorageClass", metadata: { name } },
      ...{ provisioner: DRIVER, parameters: { kind: "disk" }, allowVolumeExpansion: true, volumeBindingMode },
    } as KubeObject,
  ];
  const nodes = NODES.flatMap((name): [Resource, KubeObject][] => [
    [Nodes, { apiVersion: "v1", kind: "Node", metadata: { name, labels: { [TOPOLOGY_KEY]: name } } }],
    [
      CSINodes,
      {
        ...{ apiVersion: "storage.k8s.io/v1", kind: "CSINode", metadata: { name } },
        spec: { drivers: [{ name: DRIVER, nodeID: name, topologyKeys: [TOPOLOGY_KEY] }] },
      } as KubeObject,
    ],
  ]);
  const snapshotClass = {
    ...{ apiVersion: "snapshot.storage.k8s.io/v1", kind: "VolumeSnapshotClass", metadata: { name: "snaps" } },
    ...{ driver: DRIVER, deletionPolicy: "Delete" },
  } as KubeObject;
  return [
    ...nodes,
    storageClass("fast", "Immediate"),
    storageClass("late", "WaitForFirstConsumer"),
    [VolumeSnapshotClasses, snapshotClass],
  ];
}
