import { stat } from "node:fs/promises";
import { majorMinor, type Volume } from "@mooring/engine";
import type { IoController } from "../../context.ts";
import { findVolume } from "../../objects/find.ts";
import { hasLimits, type IoLimits, ioLimitsOf } from "../../request/parameters.ts";
import { attachedHere, type NodeContext } from "../context.ts";
import { unlessDamaged } from "../damaged-record.ts";
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
    const { host, records } = this.#node;
    let unread: Set<string> | undefined;
    while (!signal.aborted) {
      unread ??= await records
        .list()
        .then((ids) => new Set(ids))
        .catch(this.#complain(signal));
      for (const id of unread ?? []) {
        const read = this.#readAgain(id, signal).then(() => unread?.delete(id));
        await read.catch(this.#complain(signal, id));
      }
      for (const name of [...this.#kept.keys()]) await this.#apply(name).catch(this.#complain(signal, name));
      await host.clock.sleep(POLL_MS, signal).catch(() => {});
    }
  }

  async #readAgain(id: string, signal: AbortSignal): Promise<void> {
    const volume = await findVolume(this.#node.store, id, signal);
    if (volume !== undefined) await this.follow(volume);
  }

  /** For what is tried again with the next turn, as others' limits are. */
  #complain(signal: AbortSignal, volume?: string): (error: unknown) => undefined {
    return (error) => {
      if (signal.aborted) return;
      this.#node.logger.warn({ err: error, volume }, "cannot limit input and output; trying again");
    };
  }

  async #read(volume: Volume): Promise<Kept | undefined> {
    const limits = ioLimitsOf(volume.spec.mutableParameters);
    if (!hasLimits(limits)) return undefined;
    const record = await this.#node.records.findOf(volume).catch(unlessDamaged(undefined));
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
