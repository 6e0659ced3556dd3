import { getIfAny, within } from "@mooring/store";
import { type Volume, Volumes } from "../../api/volume.ts";
import { firstBlockFails } from "../../host/blocks.ts";
import { isMoving } from "../../tickets/migration-phase.ts";
import type { AgentContext } from "../context.ts";

/** A disk that does not respond for so long may be slow: that alone is no fault. */
const PATIENCE_MS = 5_000;
/** Reads of one round, and how many of them at a time: the price of a round does not grow with the volumes. */
const MOST = 64;
const AT_A_TIME = 4;

/**
 * Probes attached devices that no file system is mounted from here, some in every round. Reads the image behind a
 * device and not the device: the agent that freezes or moves a volume needs the device closed.
 */
export class DeviceProbes {
  readonly #context: AgentContext;
  /** Images that have not responded to an earlier probe yet. */
  readonly #waiting = new Set<string>();
  #next = 0;

  constructor(context: AgentContext) {
    this.#context = context;
  }

  /** Why devices of these volumes fail, by volume; undefined where one does not. Volumes not probed are left out. */
  async round(volumes: readonly Volume[]): Promise<Map<string, string | undefined>> {
    const start = volumes.length === 0 ? 0 : this.#next % volumes.length;
    const turn = [...volumes.slice(start), ...volumes.slice(0, start)].slice(0, MOST);
    this.#next = start + turn.length;
    const found = new Map<string, string | undefined>();
    const queue = turn.values();
    const work = async (): Promise<void> => {
      for (const volume of queue) found.set(volume.metadata.name, await this.#faultOf(volume));
    };
    await Promise.all(Array.from({ length: AT_A_TIME }, work));
    return found;
  }

  async #faultOf(volume: Volume): Promise<string | undefined> {
    const first = await this.#probe(volume);
    if (first === undefined) return undefined;
    // Devices are fenced on purpose when a volume moves, or its lease is lost: by now that is recorded.
    const { store, signal } = this.#context;
    const now = await getIfAny(store, Volumes, { name: volume.metadata.name }, signal);
    return now !== undefined && this.#isOurs(now) ? this.#probe(now) : undefined;
  }

  #isOurs(volume: Volume): boolean {
    const { nodeID, pools, sharing } = this.#context;
    const { status, spec, metadata } = volume;
    const here = status?.state === "attached" && status.currentNodeID === nodeID && !isMoving(volume);
    const shared = pools.get(spec.pool)?.layout.several === true;
    return here && (!shared || sharing?.leases.holds(metadata.name) === true);
  }

  async #probe({ metadata: { name }, spec, status }: Volume): Promise<string | undefined> {
    const { host, pools } = this.#context;
    const pool = pools.get(spec.pool);
    const image = await pool?.backend.find(name).catch(() => undefined);
    const device = await host.loops.at(status?.device ?? "").catch(() => undefined);
    if (pool === undefined || image === undefined || device?.backingFile !== image.path) return undefined;
    const what = `device ${device.path} of volume ${name}`;
    // Of a shared pool it may be withheld: from whom, and until when, its lease and its migration record.
    if (device.fenced === true) {
      return pool.layout.several ? undefined : `${what} is fenced off from its image`;
    }
    return (await this.#readFails(image.path)) ? `${what} fails with input/output errors` : undefined;
  }

  /** False also when nothing is known in time: a program that waits for a dead disk cannot even be killed. */
  async #readFails(image: string): Promise<boolean> {
    if (this.#waiting.has(image)) return false;
    const { host, signal } = this.#context;
    this.#waiting.add(image);
    return within(PATIENCE_MS, signal, (limit) => {
      const read = firstBlockFails(host.exec, image, limit)
        .catch(() => false)
        .finally(() => this.#waiting.delete(image));
      const given = new Promise<false>((resolve) => {
        limit.addEventListener("abort", () => resolve(false), { once: true });
      });
      return Promise.race([read, given]);
    });
  }
}
