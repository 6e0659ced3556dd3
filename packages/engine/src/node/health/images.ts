import type { Logger } from "@mooring/store";
import type { Host } from "../../host/host.ts";
import type { OpenPools } from "../open-pools.ts";

/** A volume or a snapshot whose record says that its image is whole. */
export interface Whole {
  name: string;
  pool: string;
  /** Bytes that the image has at least. */
  size: number;
}

/** What a controller has images of. */
export interface ImageOwner {
  /** All that are whole by their records. */
  wholes(): readonly Whole[];
  /** The image is lost, or a part of it. */
  ask(name: string): void;
}

/** What the watch needs of its agent. */
export interface ImageWatchContext {
  host: Pick<Host, "clock">;
  /** Milliseconds between two rounds, at least. */
  healthMs: number;
  pools: Pick<OpenPools, "list">;
  logger: Logger;
  signal: AbortSignal;
}

/** Of the time of a check the next one waits this many times: it reads every file of a pool. */
const DELAY_FACTOR = 100;

/**
 * Finds, now and then, what has lost its image, or a part of it, without knowing: an operator who removes a file sends no
 * event, and who has a volume detached would learn of it when a pod needs it. One read of a pool serves all of its volumes,
 * attached or not, and all of its snapshots.
 */
export class ImageWatch {
  readonly #owners: ImageOwner[] = [];

  /** Asks this controller, too, for as long as the agent lives. */
  add(owner: ImageOwner): void {
    this.#owners.push(owner);
  }

  /** Checks until the agent's signal. */
  async run({ host, healthMs, signal, logger, pools }: ImageWatchContext): Promise<void> {
    let delayMs = healthMs;
    while (!signal.aborted) {
      await host.clock.sleep(delayMs, signal).catch(() => {});
      if (signal.aborted) return;
      const from = host.clock.sinceBoot();
      await this.#check(pools, logger);
      delayMs = Math.max(healthMs, DELAY_FACTOR * (host.clock.sinceBoot() - from));
    }
  }

  async #check(pools: ImageWatchContext["pools"], logger: Logger): Promise<void> {
    const wholes = this.#owners.flatMap(({ wholes, ask }) => wholes().map((whole) => ({ whole, ask })));
    for (const { name: pool, backend } of pools.list()) {
      const here = wholes.filter(({ whole }) => whole.pool === pool);
      if (here.length === 0 || !backend.isOpen) continue;
      // One that cannot be read, such as a cluster that is silent, is no reason to leave out the others.
      const images = await backend.list().catch((error: unknown) => {
        logger.warn({ err: error, pool }, "cannot check the images of a pool");
      });
      if (images === undefined) continue;
      const sizes = new Map(images.map(({ id, size }) => [id, size]));
      for (const { whole, ask } of here) if ((sizes.get(whole.name) ?? -1) < whole.size) ask(whole.name);
    }
  }
}
