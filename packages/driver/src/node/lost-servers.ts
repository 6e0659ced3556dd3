import { failRequests, isServed, type MountEntry, type ShareManager, ShareManagers } from "@mooring/engine";
import { delay, getIfAny } from "@mooring/store";
import { findVolume } from "../objects/find.ts";
import type { NodeContext } from "./context.ts";
import { endpointOf, isMountOfShare } from "./share.ts";

/** A program that is being ended may ask for something once more. */
const EVERY_MS = 5000;

/**
 * Programs that wait for a server which does not serve their volume any more get errors. Without that they would wait for ever,
 * for the mount is a hard one, and while they wait for a write nothing ends them: neither they nor their pod would ever go.
 */
export class LostServers {
  readonly #node: NodeContext;
  readonly #signal: AbortSignal;
  readonly #watched = new Set<string>();

  constructor(node: NodeContext, signal: AbortSignal) {
    this.#node = node;
    this.#signal = signal;
  }

  /** Never rejects. Resolves when nothing is mounted here any more from a server of before. `name`: of the volume. */
  async changed(name: string): Promise<void> {
    if (this.#watched.has(name)) return;
    this.#watched.add(name);
    try {
      while (!this.#signal.aborted && (await this.#check(name))) await delay(EVERY_MS, this.#signal);
    } catch (error) {
      if (!this.#signal.aborted)
        this.#node.logger.warn({ err: error, volume: name }, "cannot end what waits for a lost server");
    } finally {
      this.#watched.delete(name);
    }
  }

  /** False when there is nothing to be done for as long as the volume does not change. */
  async #check(name: string): Promise<boolean> {
    const { store, records, host, logger } = this.#node;
    const volume = await findVolume(store, name, this.#signal);
    if (volume === undefined || !isServed(volume) || volume.status?.remountRequestedAt === undefined)
      return false;
    const path = (await records.findOf(volume))?.staged?.path;
    const mounted = path === undefined ? undefined : (await host.mounts.at(path)).at(-1);
    if (path === undefined || mounted === undefined || !isMountOfShare(name, mounted)) return false;
    const share = await getIfAny(store, ShareManagers, { name }, this.#signal);
    if (!isLost(mounted, share)) return true;
    await failRequests(host.exec, path, this.#signal);
    logger.info({ volume: name, server: mounted.source }, "what waits for a server of before has failed");
    return true;
  }
}

/** The volume is served, and not from where this mount is. Pure. */
export function isLost({ source, superOptions }: MountEntry, share: ShareManager | undefined): boolean {
  const { state, endpoint = "" } = share?.status ?? {};
  const now = endpointOf(endpoint);
  // A node that has the file system at hand serves nobody while no other node wants it.
  if (state !== "running") return false;
  if (now === undefined) return true;
  return !source.startsWith(`${now.address}:`) || !superOptions.includes(`port=${now.port}`);
}
