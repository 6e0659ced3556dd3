import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rmdir, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * One control group per pod and, in it, one per container: the way to find every process of a pod, whatever it
 * forked. Uses the version 2 hierarchy (also the one of a hybrid machine, which has no controllers but can kill and
 * freeze), else version 1's freezer. runc makes the groups of a container in the hierarchies that have controllers.
 */
export interface Cgroups {
  /** The version 2 hierarchy is the only one. */
  readonly unified: boolean;
  /** Path of a container's group below the root of each hierarchy. */
  path(podUID: string, container: string): string;
  /**
   * Makes the group of a container's monitor, which outlives the container, and returns the folder whose `cgroup.procs` it
   * writes itself into; `container`: the same for the container's own first process, where runc does not do that.
   */
  create(podUID: string, container: string): Promise<{ monitor: string; container?: string }>;
  /** Process ids of the pod, or of one container of it. */
  processes(podUID: string, container?: string): Promise<number[]>;
  /** SIGKILL to all; resolves when the group is empty. */
  kill(podUID: string, container?: string): Promise<void>;
  freeze(podUID: string, frozen: boolean): Promise<void>;
  /**
   * Has something done while no process of the container is in a system call, or begins one. Throws when one does not come
   * back within a second, as from a disk that does not respond.
   */
  whileStill(podUID: string, container: string, work: () => Promise<void>): Promise<void>;
  /** Lets a container go on that an earlier life has stopped for {@link whileStill}. */
  resume(podUID: string, container: string): Promise<void>;
  /** The kernel has killed a process of the container for want of memory. */
  outOfMemory(podUID: string, container: string): Promise<boolean>;
  /** Removes an empty group; one that does not exist is fine. */
  remove(podUID: string, container?: string): Promise<void>;
  pods(): Promise<string[]>;
  /** Removes the root of all when it is empty. */
  close(): Promise<void>;
}

const MOUNTED = "/sys/fs/cgroup";
/** Container ids have no such character. */
const MONITOR = "~monitor";
const SETTLE_MS = 10_000;
/** No program stands still for longer than that for the sake of a log. */
const STILL_MS = 1_000;
const HIERARCHIES = [
  { path: "/sys/fs/cgroup", version: 2 },
  { path: "/sys/fs/cgroup/unified", version: 2 },
  { path: "/sys/fs/cgroup/freezer", version: 1 },
] as const;

/** What is the state folder's own on the machine. */
export function cgroupName(stateDir: string): string {
  return `mooring-${createHash("sha256").update(stateDir).digest("hex").slice(0, 12)}`;
}

/** The groups of one state folder; several may be in use on one machine. */
export async function openCgroups(stateDir: string): Promise<Cgroups> {
  const name = cgroupName(stateDir);
  for (const { path, version } of HIERARCHIES) {
    const marker = version === 2 ? "cgroup.controllers" : "cgroup.procs";
    if (!(await exists(join(path, marker)))) continue;
    const root = join(path, name);
    await mkdir(root, { recursive: true });
    return new CgroupTree(root, version, path);
  }
  throw new Error("no cgroup hierarchy is mounted below /sys/fs/cgroup: mount one (cgroup2) and start again");
}

/** The part of one hierarchy that is below `root`. */
class CgroupTree implements Cgroups {
  readonly unified: boolean;
  readonly #root: string;
  readonly #name: string;
  readonly #version: 1 | 2;

  constructor(root: string, version: 1 | 2, home: string) {
    this.#root = root;
    this.#name = basename(root);
    this.#version = version;
    this.unified = home === MOUNTED;
  }

  path(podUID: string, container: string): string {
    return `/${this.#name}/${podUID}/${container}`;
  }

  async create(podUID: string, container: string): Promise<{ monitor: string; container?: string }> {
    const own = this.#folder(podUID, container);
    const monitor = own + MONITOR;
    await mkdir(monitor, { recursive: true });
    if (this.#version === 1 || this.unified) return { monitor };
    await mkdir(own, { recursive: true });
    return { monitor, container: own };
  }

  async processes(podUID: string, container?: string): Promise<number[]> {
    const folders = container === undefined ? await this.#folders(podUID) : [this.#folder(podUID, container)];
    const lists = await Promise.all(folders.map((folder) => readList(join(folder, "cgroup.procs"))));
    return lists.flat();
  }

  async kill(podUID: string, container?: string): Promise<void> {
    if (!(await exists(this.#folder(podUID, container)))) return;
    // A version 1 group that is frozen would keep its killed processes.
    if (container === undefined) await this.freeze(podUID, false);
    await poll(async () => {
      if ((await this.processes(podUID, container)).length === 0) return true;
      await this.#killOnce(podUID, container);
      return (await this.processes(podUID, container)).length === 0;
    });
  }

  async freeze(podUID: string, frozen: boolean): Promise<void> {
    const path = this.#folder(podUID);
    await orderFrozen(this.#version, path, frozen);
    await untilFrozen(this.#version, path, frozen);
  }

  async whileStill(podUID: string, container: string, work: () => Promise<void>): Promise<void> {
    const path = this.#folder(podUID, container);
    if (!(await exists(path))) return work();
    try {
      await orderFrozen(this.#version, path, true);
      await untilFrozen(this.#version, path, true, STILL_MS);
      await work();
    } finally {
      await this.resume(podUID, container);
    }
  }

  /** Not waited for: its pod may be frozen as well. */
  async resume(podUID: string, container: string): Promise<void> {
    await orderFrozen(this.#version, this.#folder(podUID, container), false).catch(absent);
  }

  async outOfMemory(podUID: string, container: string): Promise<boolean> {
    const path = join(this.#name, podUID, container);
    const file = this.unified
      ? join(MOUNTED, path, "memory.events")
      : join(MOUNTED, "memory", path, "memory.oom_control");
    return /^oom_kill [1-9]/m.test(await readFile(file, "utf8").catch(() => ""));
  }

  async remove(podUID: string, container?: string): Promise<void> {
    const folders = await this.#folders(podUID, container);
    for (const folder of folders.reverse()) await removeFolder(folder);
    if (container === undefined) await this.#removeElsewhere(podUID);
  }

  pods(): Promise<string[]> {
    return subfolders(this.#root);
  }

  async close(): Promise<void> {
    if ((await subfolders(this.#root)).length > 0) return;
    await this.#removeElsewhere("");
    await removeFolder(this.#root);
  }

  #folder(podUID: string, container?: string): string {
    return container === undefined ? join(this.#root, podUID) : join(this.#root, podUID, container);
  }

  async #folders(podUID: string, container?: string): Promise<string[]> {
    const own = this.#folder(podUID, container);
    if (container !== undefined) return [own, own + MONITOR];
    return [own, ...(await subfolders(own)).map((child) => join(own, child))];
  }

  /** runc makes the groups above a container's in each hierarchy, and leaves them. */
  async #removeElsewhere(path: string): Promise<void> {
    if (this.unified) return;
    for (const hierarchy of await subfolders(MOUNTED))
      await removeFolder(join(MOUNTED, hierarchy, this.#name, path));
  }

  async #killOnce(podUID: string, container?: string): Promise<void> {
    const path = this.#folder(podUID, container);
    if (this.#version === 2 && (await exists(join(path, "cgroup.kill")))) {
      await writeFile(join(path, "cgroup.kill"), "1");
      return;
    }
    for (const pid of await this.processes(podUID, container)) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It went by itself.
      }
    }
  }
}

async function orderFrozen(version: 1 | 2, path: string, frozen: boolean): Promise<void> {
  const [file, value] =
    version === 2 ? ["cgroup.freeze", frozen ? "1" : "0"] : ["freezer.state", frozen ? "FROZEN" : "THAWED"];
  await writeFile(join(path, file), value);
}

async function untilFrozen(version: 1 | 2, path: string, frozen: boolean, withinMs?: number): Promise<void> {
  const isFrozen = version === 2 ? /^frozen 1$/m : /^FROZEN$/m;
  const report = join(path, version === 2 ? "cgroup.events" : "freezer.state");
  await poll(async () => isFrozen.test(await readFile(report, "utf8")) === frozen, withinMs);
}

/** A group stays busy for a moment after its last process is gone. */
async function removeFolder(path: string): Promise<void> {
  await poll(async () => {
    try {
      await rmdir(path);
      return true;
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === "ENOENT") return true;
      if (code === "EBUSY") return false;
      throw error;
    }
  });
}

async function poll(done: () => Promise<boolean>, withinMs = SETTLE_MS): Promise<void> {
  const deadline = performance.now() + withinMs;
  for (let wait = 1; !(await done()); wait = Math.min(wait * 2, 50)) {
    if (performance.now() > deadline)
      throw new Error(`a control group did not settle within ${withinMs / 1000} s`);
    await sleep(wait);
  }
}

async function subfolders(path: string): Promise<string[]> {
  try {
    const entries = await readdir(path, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  } catch {
    return [];
  }
}

async function readList(path: string): Promise<number[]> {
  try {
    return (await readFile(path, "utf8")).split("\n").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

function absent(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch {
    return false;
  }
}
