import { stat } from "node:fs/promises";
import { majorMinor, type Volume } from "@mooring/engine";
import type { IoController } from "../../context.ts";
import { findVolume } from "../../objects/find.ts";
import { hasLimits, type IoLimits, ioLimitsOf } from "../../request/parameters.ts";
import { attachedHere, type NodeContext } from "../context.ts";
import { ioController } from "./controller.ts";
import { groupsOf, limitGroup, workloadsOf } from "./groups.ts";

/** A pod's control group may be made after its volumes are there, and may be made again. */
const POLL_MS = 1_000;

interface Kept {
  /** `7:3` */
  device: string;
  limits: IoLimits;
  /** UIDs of pods, or ids of what else the volume is published for. */
  workloads: ReadonlySet<string>;
}

/**
 * Keeps workloads within the limits of the volumes that are published for them. Knows only volumes with limits, so a node
 * without any costs nothing. What it has is read again from records and objects after a restart.
 */
export class IoLimitKeeper {
  readonly #node: NodeContext;
  readonly #kept = new Map<string, Kept>();
  /** Groups with a limit of ours, by volume: what has to be taken away again. */
  readonly #groups = new Map<string, Map<string, string>>();

  #turn: Promise<void> = Promise.resolve();

  constructor(node: NodeContext) {
    this.#node = node;
  }

  /** The machine's controller, or why there is none. */
  async controller(): Promise<IoController> {
    const { cgroupRoot, host } = this.#node;
    if (cgroupRoot === undefined) return ioController(await host.mounts.list());
    return ioController([{ fsType: "cgroup2", target: cgroupRoot, superOptions: [] }]);
  }

  /**
   * Reads a volume after anything about it has changed, and at the groups of its workloads. What fails is tried again
   * by and by: no workload is kept from its volume because of it.
   */
  async follow(volume: Volume): Promise<void> {
    const { name } = volume.metadata;
    const next = await this.#read(volume);
    if (next === undefined) this.#kept.delete(name);
    else this.#kept.set(name, next);
    await this.#apply(name).catch((error: unknown) => {
      this.#node.logger.warn({ err: error, volume: name }, "cannot limit input and output; trying again");
    });
  }

  /** Until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { host, records, store, logger } = this.#node;
    const scan = async (): Promise<void> => {
      for (const name of [...this.#kept.keys()]) await this.#apply(name);
    };
    const begin = async (): Promise<void> => {
      for (const id of await records.list()) {
        const volume = await findVolume(store, id, signal);
        if (volume !== undefined) await this.follow(volume);
      }
    };
    for (let work = begin; !signal.aborted; work = scan) {
      await work().catch((error: unknown) => {
        if (!signal.aborted) logger.warn({ err: error }, "cannot apply limits of input and output");
      });
      await host.clock.sleep(POLL_MS, signal).catch(() => {});
    }
  }

  async #read(volume: Volume): Promise<Kept | undefined> {
    const limits = ioLimitsOf(volume.spec.mutableParameters);
    if (!hasLimits(limits)) return undefined;
    const record = await this.#node.records.find(volume.metadata.name);
    const workloads = new Set(Object.keys(record?.published ?? {}).flatMap(workloadsOf));
    if (workloads.size === 0) return undefined;
    const attached = await attachedHere(this.#node, volume).catch(() => undefined);
    if (attached?.kind !== "device") return undefined;
    return { device: majorMinor((await stat(attached.path)).rdev), limits, workloads };
  }

  /** One after the other: what a read of the groups began must not undo what a call has changed meanwhile. */
  #apply(name: string): Promise<void> {
    const turn = this.#turn.then(() => this.#settle(name));
    this.#turn = turn.catch(() => {});
    return turn;
  }

  async #settle(name: string): Promise<void> {
    const before = this.#groups.get(name);
    const kept = this.#kept.get(name);
    if (kept === undefined && before === undefined) return;
    const controller = await this.controller();
    if ("missing" in controller) return;
    const { root } = controller;
    const groups = new Map<string, string>();
    for (const workload of kept?.workloads ?? []) {
      for (const group of await groupsOf(root, workload)) groups.set(group, kept?.device ?? "");
    }
    for (const [group, device] of before ?? []) {
      // Numbers of loop devices are given out again: the next volume must not find the limits of this one.
      if (groups.get(group) !== device) await this.#limit(root, group, device, {});
    }
    for (const [group, device] of groups) await this.#limit(root, group, device, kept?.limits ?? {});
    if (groups.size === 0) this.#groups.delete(name);
    else this.#groups.set(name, groups);
  }

  async #limit(root: string, group: string, device: string, limits: IoLimits): Promise<void> {
    try {
      if (await limitGroup(root, group, device, limits)) {
        this.#node.logger.info({ group, device, limits }, "limits of input and output set");
      }
    } catch (error) {
      // It went while we read, with its limits.
      const code = (error as NodeJS.ErrnoException).code;
      if (code !== "ENOENT" && code !== "ENODEV") throw error;
    }
  }
}
