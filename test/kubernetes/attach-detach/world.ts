import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PersistentVolumeClaim } from "@mooring/store";
import { bundleProgram, eventually } from "@mooring/store/testing";
import { DriverProcess } from "../../cluster/support/driver-process.ts";
import { MooringProcess, plainEnvironment } from "../../csi/support/process.ts";
import { Kubectl } from "../../support/kubectl.ts";
import { sleepersSocket } from "../../support/sleepers.ts";
import { programFolder } from "../real/support/components.mjs";
import { startControlPlane } from "../real/support/control-plane.mjs";

const SERVER = ["etcd", "kube-apiserver", "kube-controller-manager"];
const CONTROLLERS = [
  ...["persistentvolume-binder-controller", "persistentvolume-attach-detach-controller"],
  ...["persistentvolumeclaim-protection-controller", "persistentvolume-protection-controller"],
  "serviceaccount-controller",
];
export const [NODE, OTHER, DRIVER] = ["worker", "other-worker", "refusing.example.com"] as const;
/** Kubernetes' own controller gives up after two minutes, and then tries again. */
const withinMs = 400_000;

/** Why this cannot be tested here. */
export function missing(): string | undefined {
  const absent = SERVER.filter((name) => !existsSync(join(programFolder(), name)));
  return absent.length === 0
    ? undefined
    : `${absent.join(" and ")} not in ${programFolder()}; "npm run test:kubernetes" builds them`;
}

/** What a kubelet and a registrar say of their node. */
const node = (name: string, nodeID: string) => `
apiVersion: v1
kind: Node
metadata: {name: ${name}, annotations: {volumes.kubernetes.io/controller-managed-attach-detach: "true"}}
---
apiVersion: storage.k8s.io/v1
kind: CSINode
metadata: {name: ${name}}
spec: {drivers: [{name: ${DRIVER}, nodeID: ${nodeID}, topologyKeys: []}]}
---
`;

const OBJECTS = `${node(NODE, "n1")}${node(OTHER, "n2")}
{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: ${DRIVER}}, spec: {attachRequired: true}}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: theirs}, provisioner: ${DRIVER}}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: kept}, provisioner: ${DRIVER}, reclaimPolicy: Retain}
`;

/** `className`: `theirs` deletes what is released, `kept` retains it. */
export const claim = (name: string, className = "theirs") => `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: ${name}}
spec: {accessModes: [ReadWriteOnce], storageClassName: ${className}, resources: {requests: {storage: 1Mi}}}
`;

/** It is on a node, which has no kubelet. */
export const pod = (name: string, node: string = NODE, claimName = name) => `
---
apiVersion: v1
kind: Pod
metadata: {name: ${name}}
spec:
  nodeName: ${node}
  containers: [{name: main, image: none, volumeMounts: [{name: v, mountPath: /data}]}]
  volumes: [{name: v, persistentVolumeClaim: {claimName: ${claimName}}}]
`;

export interface Attachment {
  metadata: { name: string; uid: string; namespace?: string; deletionTimestamp?: string };
  spec: { attacher: string; nodeName: string; source: { persistentVolumeName: string } };
  status?: { attached?: boolean; detachError?: { message?: string } };
}

/** A real API server with Kubernetes' own attach/detach controller, and our control plane around a driver of somebody else. */
export class World {
  readonly kubectl: Kubectl;
  readonly driver: DriverProcess;
  readonly #folder: string;
  readonly #plane: Awaited<ReturnType<typeof startControlPlane>>;
  #started = 0;

  private constructor(
    folder: string,
    plane: Awaited<ReturnType<typeof startControlPlane>>,
    driver: DriverProcess,
  ) {
    this.#folder = folder;
    this.#plane = plane;
    this.driver = driver;
    this.kubectl = new Kubectl(plane.admin);
  }

  static async open(undo: (() => Promise<unknown>)[]): Promise<World> {
    const folder = await mkdtemp(join(tmpdir(), "mooring-attach-detach-"));
    undo.push(() => rm(folder, { recursive: true, force: true }));
    const plane = await startControlPlane({
      ...{ folder, bin: programFolder(), only: SERVER, address: undefined, controllers: CONTROLLERS },
    });
    undo.push(() => plane.stop());
    const program = await bundleProgram(new URL("../../cluster/support/small-driver.ts", import.meta.url));
    undo.push(() => program.remove());
    const driver = new DriverProcess(program.path, join(folder, "csi.sock"));
    undo.push(() => driver.leave());
    await driver.start(DRIVER, ["CREATE_DELETE_VOLUME", "PUBLISH_UNPUBLISH_VOLUME"]);
    const world = new World(folder, plane, driver);
    await world.kubectl.apply(OBJECTS);
    return world;
  }

  async control(undo: (() => Promise<unknown>)[]): Promise<MooringProcess> {
    const number = this.#started++;
    const ready = join(this.#folder, `ready-${number}`);
    const control = new MooringProcess(
      [
        ...["controller", "--csi-address", this.driver.socket, "--kubeconfig", this.#plane.admin],
        ...["--ready-file", ready],
      ],
      { ...plainEnvironment(), ...sleepersSocket(join(this.#folder, `sleepers-${number}`)) },
    );
    undo.push(() => control.end("SIGKILL"));
    await eventually("the control plane", async () => {
      assert.ok(control.alive, control.stderr);
      return (await readFile(ready, "utf8").catch(() => "")) !== "";
    });
    return control;
  }

  volumeOf(claim: string): Promise<string> {
    return eventually(`the volume of ${claim}`, async () => {
      const name = await this.kubectl.run("get", "pvc", claim, "-o", "jsonpath={.spec.volumeName}");
      return name !== "" && name;
    });
  }

  async attachments(): Promise<Attachment[]> {
    const text = await this.kubectl.run("get", "volumeattachments.storage.k8s.io", "-o", "json");
    return (JSON.parse(text) as { items: Attachment[] }).items;
  }

  /** What Kubernetes' own controller of volumes has made of a claim. */
  async claim(name: string): Promise<{ provisioner: string | undefined; phase: string | undefined }> {
    const text = await this.kubectl.run("get", "pvc", name, "-o", "json");
    const { metadata, status } = JSON.parse(text) as PersistentVolumeClaim;
    const provisioner = metadata.annotations?.["volume.beta.kubernetes.io/storage-provisioner"];
    return { provisioner, phase: status?.phase };
  }

  /** Until the attachment of a volume is as wanted; undefined: there is none. */
  attachment(
    volume: string,
    what: string,
    wanted: (found: Attachment | undefined) => boolean,
  ): Promise<true> {
    const read = async () =>
      (await this.attachments()).find((each) => each.spec.source.persistentVolumeName === volume);
    const options = { withinMs, lastSeen: read };
    return eventually(`${volume} to be ${what}`, async () => wanted(await read()) || undefined, options);
  }

  /** Until the node's status says so: it is the controller's word to the kubelet. */
  onNode(volume: string, isThere: boolean): Promise<true> {
    return eventually(
      `the node to have ${volume}: ${isThere}`,
      async () => {
        const { handle, listed } = await this.#listed(volume);
        return listed.includes(`^${handle}`) === isThere || undefined;
      },
      { withinMs },
    );
  }

  async #listed(volume: string): Promise<{ handle: string; listed: string }> {
    const listed = await this.kubectl.run(
      "get",
      "node",
      NODE,
      "-o",
      "jsonpath={.status.volumesAttached[*].name}",
    );
    return { handle: `id-of-${volume}`, listed };
  }

  /** Until Kubernetes' own controller has logged it. */
  logged(pattern: RegExp): Promise<true> {
    const file = join(this.#plane.logs, "kube-controller-manager.log");
    const lines = async () => (await readFile(file, "utf8")).split("\n");
    return eventually(
      `${pattern} in the log`,
      async () => (await lines()).some((line) => pattern.test(line)) || undefined,
      { withinMs, lastSeen: async () => (await lines()).filter((line) => /etach/.test(line)).slice(-5) },
    );
  }

  /** Until an event of a pod says so. */
  reported(pod: string, message: RegExp): Promise<true> {
    const read = () =>
      this.kubectl.run(
        ...["get", "events", "--field-selector", `involvedObject.name=${pod}`],
        ...["-o", 'jsonpath={range .items[*]}{.message}{"\\n"}{end}'],
      );
    return eventually(`${message} reported to ${pod}`, async () => message.test(await read()) || undefined, {
      withinMs,
      lastSeen: read,
    });
  }

  async remove(pod: string): Promise<void> {
    await this.kubectl.run("delete", "pod", pod, "--force", "--grace-period=0");
  }
}
