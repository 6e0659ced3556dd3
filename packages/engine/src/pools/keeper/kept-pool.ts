import { rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import { EngineError } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import type { PoolBackend, PoolUsage } from "../backend.ts";
import type { PoolLayout } from "../layout.ts";
import { PoolKeeper } from "./keeper.ts";
import { KeeperSwitch } from "./keeper-switch.ts";
import { keeperLevels } from "./levels.ts";

/** What a frozen pool does not do: it takes room, or waits in the kernel with one of our few threads. */
const TAKES_ROOM = ["create", "clone", "preCopy", "beginCopy", "replace", "grow", "renew"] as const;

const GROW_ATTEMPTS = 40;
const GROW_RETRY_MS = 250;

/**
 * A pool whose writers are frozen before it is full, also while this process is not there. Only local block pools can;
 * whether it does is what `holdWriters` says last, at first `holds`.
 */
export function keptPool(pool: PoolBackend, host: Host, layout: PoolLayout, holds = true): PoolBackend {
  const { backing, folder } = layout;
  if (backing === undefined || pool.type === "directory" || pool.type === "rbd") return pool;
  const keeper = new PoolKeeper(host, folder, pool.type);
  const { mount } = backing;
  const isMounted = async (): Promise<boolean> => (await host.mounts.at(mount)).length > 0;
  const kept = new KeeperSwitch(keeper, mount, holds);
  const ballast = async (): Promise<void> => {
    if (!(await keeper.isSuspended())) await makeBallast(host, mount);
  };
  const openHeld = async (): Promise<void> => {
    // A killed predecessor may have left it frozen: whatever is opened for writing would wait in the kernel.
    if (await isMounted()) {
      await kept.watch();
      // Before it is open nobody can make it larger.
      await keeper.window(() => pool.open(), { mayBeStuck: true });
    } else await pool.open();
    await kept.watch();
    await ballast();
  };
  const openFree = async (): Promise<void> => {
    // That of a life in which the pool held its writers; it outlives its agent.
    await keeper.stop();
    await pool.open();
    await removeBallast(mount);
  };
  const close = async (): Promise<void> => {
    if (await keeper.isSuspended()) throw suspended(folder);
    await pool.close();
    await keeper.stop();
  };
  const enlarge = async (size: number): Promise<void> => {
    if (!kept.isOn) return pool.enlarge(size);
    await keeper.window(() => unlessBusy(host, () => pool.enlarge(size)), { mayBeStuck: true });
    await kept.restart();
    await ballast();
  };
  const holdWriters = async (wanted: boolean): Promise<void> => {
    await kept.turn(wanted);
    await (wanted ? ballast() : removeBallast(mount));
  };
  const usage = async (): Promise<PoolUsage> => {
    const all = await pool.usage();
    if (!kept.isOn) return all;
    // A frozen XFS shows more than there is, too.
    const isSuspended = await keeper.isSuspended();
    const freeBytes = isSuspended ? 0 : Math.max(0, all.freeBytes - keeperLevels(all.totalBytes).freeze);
    return { ...all, freeBytes, keptBytes: all.freeBytes - freeBytes };
  };
  return overriding(pool, {
    usage,
    open: () => (pool.isOpen ? kept.watch() : kept.isOn ? openHeld() : openFree()),
    ...{ close, enlarge, holdWriters },
    watch: () => kept.watch(),
    holdsWriters: () => kept.isOn,
    writersSuspended: () => keeper.isSuspended(),
    remove: (id: string) => keeper.window(() => pool.remove(id)),
    ...refusals(pool, keeper, folder),
  });
}

/** The keeper of a frozen pool grows it as well, so one of the two waits for the other. */
async function unlessBusy(host: Host, work: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt === GROW_ATTEMPTS || !/in progress/.test(String(error))) throw error;
      await host.clock.sleep(GROW_RETRY_MS);
    }
  }
}

function refusals(pool: PoolBackend, keeper: PoolKeeper, folder: string): Partial<PoolBackend> {
  const refusing = TAKES_ROOM.map((name) => {
    const call = async (...args: unknown[]): Promise<unknown> => {
      if (await keeper.isSuspended()) throw suspended(folder);
      // It may be frozen while this is under way.
      return keeper.window(() => Reflect.apply(pool[name], pool, args));
    };
    return [name, call];
  });
  return Object.fromEntries(refusing);
}

/** The methods of `pool`, but for those that are given. */
function overriding(pool: PoolBackend, own: Partial<PoolBackend>): PoolBackend {
  return new Proxy(pool, {
    get: (target, name) => {
      const value = Reflect.get(name in own ? own : target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** Made while there is plenty, given up for removals when there is none. */
async function makeBallast(host: Host, mount: string): Promise<void> {
  const { blocks, bavail, bsize } = await statfs(mount);
  const { ballast, resume } = keeperLevels(blocks * bsize);
  if (bavail * bsize < resume + 2 * ballast) return;
  await host.exec.run("fallocate", ["--length", String(ballast), join(mount, "ballast")]);
}

/** A file system that has failed keeps it, until it is opened the next time. */
async function removeBallast(mount: string): Promise<void> {
  await rm(join(mount, "ballast"), { force: true }).catch(() => {});
}

function suspended(folder: string): EngineError {
  return new EngineError(
    "RESOURCE_EXHAUSTED",
    `the pool in ${folder} is full: its writers are suspended until there is room`,
    {
      hint: "delete volumes or snapshots in it, or make the pool larger",
    },
  );
}
