import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once, setMaxListeners } from "node:events";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { LocalStore, mutate, silentLogger } from "@mooring/store";
import { endAtRest } from "@mooring/store/testing";
import { type AttachmentTicket, type VolumeAttachment, VolumeAttachments } from "../../../api/attachment.ts";
import { NodeAgents } from "../../../api/node-agent.ts";
import { Pools, type RbdSpec } from "../../../api/pool.ts";
import { type Volume, type VolumeSpec, Volumes } from "../../../api/volume.ts";
import { startArbiter } from "../../../cluster/arbiter/index.ts";
import { createHost } from "../../../host/create-host.ts";
import type { Host, LoopDevice } from "../../../host/host.ts";
import type { LeaseTimes } from "../../../leases/image-leases.ts";
import { sharedLayout } from "../../../pools/layout.ts";
import { engineRegistry, POOL, until, volumeObject } from "../../../testing/agent.ts";
import { attachmentAt } from "../../../testing/attachment-at.ts";
import { reportNode } from "../../../testing/report-node.ts";
import { GIB, type Hooks, MIB, scratch, sparse } from "../../../testing/scratch.ts";
import { addTicket, removeTickets, ticketStatus } from "../../../tickets/tickets.ts";
import { startAgent } from "../../index.ts";
import type { AgentOptions, AgentPool } from "../../options.ts";

export const VOLUME = "v-p-1";
/** Short, so that a takeover is; long enough for an agent that was killed to be back in time on a busy machine. */
const LEASES = { durationMs: 16_000, safetyMs: 4000 };
/** Devices are checked so often that every state of a migration is. */
const OFTEN_MS = 50;

/** What all nodes of a stage have in common; it can be written as JSON. */
export type OfNodes = Required<Pick<AgentOptions, "pools" | "healthMs" | "leases">>;

/** What is different from what a stage has by itself: a folder of XFS, leases of 16 s, and a volume that may move. */
export interface StageOptions {
  /** The pool is in a Ceph cluster: its configuration file, and where in it. */
  rbd?: { conf: string; spec: RbdSpec };
  leases?: LeaseTimes;
  volume?: Partial<VolumeSpec>;
}

/** Nodes a and b that share a pool, the arbiter, and one migratable volume; taken apart after the test. */
export class Stage {
  readonly dir: string;
  readonly host: Host;
  readonly store: LocalStore;
  readonly #agents = new Map<string, { done: Promise<void>; stop: AbortController }>();
  readonly #mortals: ChildProcess[] = [];
  readonly #stop = new AbortController();
  readonly #running: Promise<void>[] = [];
  readonly #options: StageOptions;

  private constructor(
    dir: string,
    { host, store }: { host: Host; store: LocalStore },
    options: StageOptions,
  ) {
    this.#options = options;
    this.dir = dir;
    this.host = host;
    this.store = store;
  }

  static async open(t: Hooks, options: StageOptions = {}): Promise<Stage> {
    const host = createHost();
    let stage: Stage | undefined;
    // Before the folder is cleaned up: hooks run in the order in which they were made.
    t.after(async () => {
      if (stage !== undefined) await endAtRest(stage.#close.bind(stage));
    });
    const dir = await scratch(t, host);
    if (options.rbd === undefined) await sharedFolder(host, dir);
    const store = await LocalStore.open({ path: join(dir, "store"), registry: engineRegistry() });
    stage = new Stage(dir, { host, store }, options);
    setMaxListeners(0, stage.#stop.signal);
    for (const node of ["a", "b"]) await stage.startNode(node);
    const common = { store, logger: silentLogger, signal: stage.#stop.signal };
    stage.#running.push((await startArbiter(common)).done);
    await until(store, Pools, POOL, ({ status }) => status?.nodes?.length === 2);
    const movable = { volumeMode: "Block" as const, accessMode: "rwx", migratable: true, size: 256 * MIB };
    await store.create(Volumes, volumeObject(VOLUME, options.volume ?? movable));
    await stage.volume(({ status }) => status?.state === "detached");
    return stage;
  }

  async startNode(nodeID: string): Promise<void> {
    const { store, host, dir } = this;
    const stop = new AbortController();
    const options = { store, host, nodeID, stateDir: join(dir, nodeID), logger: silentLogger };
    const { done } = await startAgent({ ...options, ...this.#ofNodes(), signal: stop.signal });
    this.#agents.set(nodeID, { done, stop });
  }

  #ofNodes(): OfNodes {
    const { rbd, leases = LEASES } = this.#options;
    const pool: AgentPool =
      rbd === undefined
        ? { name: POOL, type: "xfs", shared: true, path: join(this.dir, "shared") }
        : { name: POOL, type: "rbd", shared: true, path: rbd.conf, rbd: rbd.spec };
    return { pools: [pool], healthMs: OFTEN_MS, leases };
  }

  async stopNode(nodeID: string): Promise<void> {
    const agent = this.#agents.get(nodeID);
    this.#agents.delete(nodeID);
    agent?.stop.abort();
    await agent?.done;
  }

  /** The node's agent in a process of its own that dies at the failpoint, by a server for this stage's store. */
  async startMortal(nodeID: string, program: string, url: string, failpoint: string): Promise<ChildProcess> {
    const mortal = spawn(
      process.execPath,
      [program, url, this.dir, nodeID, JSON.stringify(this.#ofNodes())],
      {
        stdio: ["ignore", "pipe", "inherit"],
        env: { ...process.env, MOORING_FAILPOINT: failpoint },
      },
    );
    this.#mortals.push(mortal);
    if (mortal.stdout !== null) await Promise.race([once(mortal.stdout, "data"), once(mortal, "exit")]);
    return mortal;
  }

  /** A workload comes to the node. */
  ask(nodeID: string): Promise<AttachmentTicket> {
    return addTicket(
      this.store,
      VOLUME,
      { id: `w${nodeID}`, type: "csi-attacher", nodeID },
      { now: new Date() },
    );
  }

  /** It leaves. */
  async leave(nodeID: string): Promise<void> {
    await removeTickets(this.store, VOLUME, ({ id }) => id === `w${nodeID}`);
  }

  async resize(size: number): Promise<void> {
    await mutate(this.store, Volumes, { name: VOLUME }, (volume) => {
      volume.spec.size = size;
    });
  }

  /** An operator opens the volume's image on the node by hand. */
  async openByHand(nodeID: string): Promise<void> {
    const { images } = sharedLayout(join(this.dir, nodeID, "pools", POOL), "");
    const options = ["--find", "--show", "--direct-io=on", "--sector-size", "4096"];
    await this.host.exec.run("losetup", [...options, join(images, `${VOLUME}.img`)]);
  }

  /** An operator closes a device by hand; no event reports that. */
  async closeByHand(device: string): Promise<void> {
    await this.host.loops.detach(await attachmentAt(this.host, device));
    await mutate(this.store, Volumes, { name: VOLUME }, ({ metadata }) => {
      metadata.annotations = { ...metadata.annotations, closed: device };
    });
  }

  volume(test: (volume: Volume) => boolean): Promise<Volume> {
    return until(this.store, Volumes, VOLUME, test);
  }

  attachment(test: (attachment: VolumeAttachment) => boolean): Promise<VolumeAttachment> {
    return until(this.store, VolumeAttachments, VOLUME, test);
  }

  satisfied(nodeID: string): Promise<VolumeAttachment> {
    return this.attachment((attachment) => ticketStatus(attachment, `w${nodeID}`)?.satisfied === true);
  }

  /** Path of the device on the node, once it is there and works. */
  async attached(nodeID: string): Promise<string> {
    const { status } = await this.volume(
      ({ status: s }) =>
        s?.state === "attached" && s.currentNodeID === nodeID && (s.currentMigrationNodeID ?? "") === "",
    );
    return status?.device ?? "";
  }

  /** Path of the device on the target, once both have one. */
  async ready(nodeID: string): Promise<string> {
    const { status } = await this.volume(({ status: s }) => s?.currentMigrationNodeID === nodeID);
    await this.satisfied(nodeID);
    return status?.migrationDevice ?? "";
  }

  /** Also sees that no device that was fenced on purpose was taken for a broken one. */
  async detached(): Promise<Volume> {
    const volume = await this.volume(
      ({ spec, status }) =>
        (spec.nodeID ?? "") === "" &&
        status?.state === "detached" &&
        (status.currentMigrationNodeID ?? "") === "",
    );
    assert.equal(volume.status?.salvage, undefined);
    return volume;
  }

  async devices(nodeID: string): Promise<LoopDevice[]> {
    const below = `${join(this.dir, nodeID)}/`;
    return (await this.host.loops.list()).filter(({ backingFile }) => backingFile.startsWith(below));
  }

  /** What the observer of silent nodes would report. */
  async report(nodeID: string, state: "Suspect" | "Fenced"): Promise<void> {
    await mutate(
      this.store,
      NodeAgents,
      { name: nodeID },
      { change: reportNode(state), subresource: "status" },
    );
  }

  async #close(): Promise<void> {
    for (const mortal of this.#mortals) mortal.kill("SIGKILL");
    for (const node of [...this.#agents.keys()]) await this.stopNode(node);
    this.#stop.abort();
    await Promise.allSettled(this.#running);
    await this.store.close();
  }
}

async function sharedFolder(host: Host, dir: string): Promise<void> {
  const { path: device } = await host.loops.attach(await sparse(join(dir, "disk"), 2 * GIB));
  await host.exec.run("mkfs.xfs", ["-q", "-m", "reflink=1", device]);
  await mkdir(join(dir, "shared"));
  await host.mounts.mount({ source: device, target: join(dir, "shared"), fsType: "xfs" });
}
