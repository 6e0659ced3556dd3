import { defined } from "@mooring/store";
import type { AttachmentTicket, VolumeAttachment } from "../api/attachment.ts";
import type { NodeAgent } from "../api/node-agent.ts";
import type { ShareManager } from "../api/share-manager.ts";
import { NOW, type NodeState, node, view } from "../cluster/arbiter/testing/build-view.ts";
import type { ArbiterView } from "../cluster/arbiter/view.ts";
import { SimKubernetes } from "./kubernetes.ts";
import type { AgentStep, Plan, SimLease, SimVolume } from "./model.ts";

/** The nodes of every history. */
export const NODES = ["a", "b", "c"] as const;

/** A machine as it is, and as the store believes it to be. */
export interface SimNode {
  believed: NodeState;
  /** Off, or fenced: nothing runs there. */
  stopped: boolean;
  /** It runs, but neither reads nor writes reach the store. */
  partitioned: boolean;
  /** Whether it can write to the volume now. */
  open: boolean;
  /** Programs use that device, so it cannot be closed. */
  inUse: boolean;
  /** It has a device that is fenced from the data. */
  withheld: boolean;
  /** What its agent has read and is about to do. */
  pending: { step: AgentStep; version: number } | undefined;
}

/** An unpublish call that waits for its node to be rid of the device. */
interface Unpublish {
  nodeID: string;
}

/** One volume, its tickets and its nodes; every change is one step, and `story` lists them. */
export class World {
  volume: SimVolume;
  attachment: VolumeAttachment;
  volumeVersion = 1;
  attachmentVersion = 1;
  now = NOW.getTime();
  readonly nodes = new Map<string, SimNode>();
  /** Tickets whose object is gone, besides those of Kubernetes. */
  readonly lost = new Set<string>();
  /** Absent: a driver on its own. */
  readonly kubernetes: SimKubernetes | undefined;
  /** The highest generation that each id ever had. */
  readonly generations = new Map<string, number>();
  /** The number under which each id was evaluated last, and what it asked for. */
  readonly evaluated = new Map<string, { generation: number; asked: string }>();
  /** The last number of tickets that went, and are forgotten. */
  readonly ended = new Map<string, number>();
  /** Tickets as an operator has saved them, to be applied again. */
  readonly saved = new Map<string, AttachmentTicket>();
  /** Tickets that were written by hand and not read since. */
  readonly handWritten = new Set<string>();
  readonly story: string[] = [];
  /** Of the image of a volume that migrates; elsewhere, the node that opened the volume has it. */
  lease: SimLease = { holder: "", for: "", unclean: false };
  /** The node that is to serve a shared volume, as its ShareManager has it; empty: none. */
  serving = "";
  unpublishing: Unpublish[] = [];
  moves = 0;

  constructor({ shared, home, kubernetes, migratable }: Omit<Plan, "askers">) {
    this.kubernetes = kubernetes ? new SimKubernetes() : undefined;
    const spec = migratable
      ? { accessMode: "rwx", volumeMode: "Block" as const, migratable }
      : { accessMode: shared ? "rwx" : "rwo" };
    const built = view({ spec, status: { state: "detached" } });
    const owner = defined({ ownerID: home });
    this.volume = { ...built.volume, status: { state: "detached", ...owner }, opener: "" };
    this.attachment = { ...built.attachment, metadata: { ...built.attachment.metadata, generation: 1 } };
    for (const name of NODES) {
      this.nodes.set(name, {
        believed: "Ready",
        stopped: false,
        partitioned: false,
        open: false,
        inUse: false,
        withheld: false,
        pending: undefined,
      });
    }
  }

  get ownersGone(): Set<string> {
    return new Set([...this.lost, ...(this.kubernetes?.orphans(this.tickets) ?? [])]);
  }

  /** Whether a ticket for the node can ever be satisfied, now that no more faults come. */
  reachable(nodeID: string): boolean {
    const { ownerID = nodeID } = this.volume.status;
    return this.node(nodeID).believed === "Ready" && ownerID === nodeID;
  }

  /** What the arbiter sees when it reads now. */
  view(nodes: ReadonlyMap<string, NodeAgent>, volume: SimVolume = this.volume): ArbiterView {
    const { attachment, ownersGone, date } = this;
    const { nodeID = "" } = volume.spec;
    // The node that has the volume serves it at once: what becomes of its share is not this model's subject.
    const share: ShareManager = {
      ...{ apiVersion: "v1", kind: "ShareManager", metadata: { name: "v-1" } },
      spec: { nodeID: this.serving },
      status: { state: "running", nodeID, endpoint: "nfs://a:1/v-1" },
    };
    const seen = { volume, attachment, nodes, share, ownersGone, now: date };
    return this.kubernetes === undefined ? seen : { ...seen, claims: this.kubernetes.claims };
  }

  get date(): Date {
    return new Date(this.now);
  }

  node(name: string): SimNode {
    const found = this.nodes.get(name);
    if (found === undefined) throw new Error(`no node ${name}`);
    return found;
  }

  /** Who can write now. */
  get open(): string[] {
    return [...this.nodes].filter(([, { open }]) => open).map(([name]) => name);
  }

  log(line: string): void {
    this.story.push(line);
  }

  /** The nodes as the store has them now. */
  agents(): Map<string, NodeAgent> {
    return new Map([...this.nodes].map(([name, { believed }]) => [name, node(name, believed)]));
  }

  /** Refused (false) when the volume is not as it was read any more. */
  writeVolume(next: SimVolume, version: number): boolean {
    if (version !== this.volumeVersion) return false;
    this.volume = next;
    this.volumeVersion += 1;
    return true;
  }

  writeTickets(spec: VolumeAttachment["spec"], version = this.attachmentVersion): boolean {
    if (version !== this.attachmentVersion) return false;
    const generation = (this.attachment.metadata.generation ?? 0) + 1;
    this.attachment = { ...this.attachment, spec, metadata: { ...this.attachment.metadata, generation } };
    this.attachmentVersion += 1;
    return true;
  }

  writeStatus(status: VolumeAttachment["status"], version: number): boolean {
    if (version !== this.attachmentVersion) return false;
    this.attachment = { ...this.attachment, ...defined({ status }) };
    this.attachmentVersion += 1;
    return true;
  }

  get tickets(): AttachmentTicket[] {
    return Object.values(this.attachment.spec.attachmentTickets ?? {});
  }
}
