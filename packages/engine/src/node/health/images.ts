import type { AgentContext } from "../context.ts";

/** A volume or a snapshot whose record says that its image is whole. */
export interface Whole {
  name: string;
  pool: string;
  /** Bytes that the image has at least. */
  size: number;
}

/** Of the time of a check the next one waits this many times: it reads every file of a pool. */
const PAUSE_FACTOR = 100;

/**
 * Asks, now and then until the signal, for what has lost its image, or a part of it, without knowing: whoever takes a file
 * away sends no event, and who has a volume detached would learn of it when a pod needs it. One read of a pool serves all of
 * its volumes, attached or not; another one all of its snapshots.
 */
export async function watchImages(
  context: AgentContext,
  wholes: () => readonly Whole[],
  ask: (name: string) => void,
): Promise<void> {
  const { host, healthMs, signal, logger } = context;
  let pause = healthMs;
  while (!signal.aborted) {
    await host.clock.sleep(pause, signal).catch(() => {});
    if (signal.aborted) return;
    const from = host.clock.sinceBoot();
    await checkImages(context, wholes(), ask).catch((error: unknown) => {
      logger.warn({ err: error }, "cannot check the images of pools");
    });
    pause = Math.max(healthMs, PAUSE_FACTOR * (host.clock.sinceBoot() - from));
  }
}

async function checkImages(
  { pools }: AgentContext,
  wholes: readonly Whole[],
  ask: (name: string) => void,
): Promise<void> {
  for (const { name: pool, backend } of pools.list()) {
    const here = wholes.filter((whole) => whole.pool === pool);
    if (here.length === 0 || !backend.isOpen) continue;
    const sizes = new Map((await backend.list()).map(({ id, size }) => [id, size]));
    for (const { name, size } of here) if ((sizes.get(name) ?? -1) < size) ask(name);
  }
}
