import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { failpoint, type Logger, syncFolder } from "@mooring/store";
import { armFreezer, type Freezer, type FreezeTarget } from "../../host/freezer/freezer.ts";
import type { Exec } from "../../host/host.ts";
import { absent } from "../../pools/file-images.ts";
import { inOrder } from "./in-order.ts";

const noted = failpoint("engine/freezes/noted");
const frozen = failpoint("engine/freezes/frozen");
const thawed = failpoint("engine/freezes/thawed");

/**
 * Processes first: they come to their stop outside of the kernel, with no lock of a file system held, so whatever
 * freezes a file system later need not wait for them. The other way round, one that writes to a frozen file system
 * waits in the kernel, and its group comes to a stop only when that is thawed.
 */
const ORDER: readonly FreezeTarget["kind"][] = ["cgroup", "filesystem"];

/**
 * Freezes that are noted on disk as long as they may last. The process that froze outlives us and thaws, but not when
 * everything of ours is killed at once, as with a container: then the next agent finds the note. That process removes the
 * note with the freeze, so that the agent does not take a later freeze of another program for ours.
 */
export class Freezes {
  readonly #folder: string;
  readonly #logger: Logger;

  /** `stateDir`: this node's state folder. */
  constructor(stateDir: string, logger: Logger) {
    this.#folder = join(stateDir, "freezes");
    this.#logger = logger;
  }

  /** As `armFreezer`, of any kinds; nothing to freeze is fine. */
  async arm(targets: readonly FreezeTarget[], maxSeconds: number): Promise<Freezer> {
    const kinds = ORDER.map((kind) => targets.filter((target) => target.kind === kind));
    const armed = await Promise.allSettled(
      kinds.filter(({ length }) => length > 0).map((some) => this.#arm(some, maxSeconds)),
    );
    const steps = armed.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
    const failed = armed.find((result) => result.status === "rejected");
    if (failed !== undefined) {
      await Promise.allSettled(steps.map((step) => step.thaw()));
      throw failed.reason;
    }
    return steps.length === 1 && steps[0] !== undefined ? steps[0] : inOrder(steps, maxSeconds);
  }

  /** Of one kind. */
  async #arm(targets: readonly FreezeTarget[], maxSeconds: number): Promise<Freezer> {
    const note = await this.#write(targets);
    noted();
    const freezer = await armFreezer(targets, maxSeconds, note).catch(async (error: unknown) => {
      await rm(note, { force: true });
      throw error;
    });
    return {
      freeze: async (seconds) => {
        await freezer.freeze(seconds);
        frozen();
      },
      // A target that could not be thawed keeps its note.
      thaw: async () => {
        const covered = await freezer.thaw();
        thawed();
        await rm(note, { force: true });
        return covered;
      },
    };
  }

  /** Undoes what an earlier life of this agent may have left. Called before anything is frozen. */
  async undoLeftovers(exec: Exec): Promise<void> {
    for (const name of (await readdir(this.#folder).catch(absent)) ?? []) {
      const path = join(this.#folder, name);
      for (const target of await readNote(path)) await this.#undo(exec, target);
      await rm(path, { force: true });
    }
  }

  async #write(targets: readonly FreezeTarget[]): Promise<string> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const path = join(this.#folder, `${randomUUID()}.json`);
    await writeFile(`${path}.new`, JSON.stringify({ boot: await bootID(), targets }), {
      flush: true,
      mode: 0o600,
    });
    await rename(`${path}.new`, path);
    await syncFolder(this.#folder);
    return path;
  }

  async #undo(exec: Exec, { kind, path }: FreezeTarget): Promise<void> {
    if (kind === "cgroup") {
      await writeFile(join(path, "cgroup.freeze"), "0").catch(absent);
      return;
    }
    // Fails where nothing is frozen any more, which is the usual case.
    const { exitCode } = await exec.try("fsfreeze", ["--unfreeze", path]);
    if (exitCode === 0)
      this.#logger.warn({ path }, "thawed a file system that an earlier run had left frozen");
  }
}

/** What may still be frozen. A note is renamed into place whole; what cannot be read was never acted on. */
async function readNote(path: string): Promise<FreezeTarget[]> {
  if (!path.endsWith(".json")) return [];
  const text = (await readFile(path, "utf8").catch(absent)) ?? "{}";
  const { boot, targets } = JSON.parse(text) as { boot?: unknown; targets?: unknown };
  // No freeze outlives the kernel that it was made in.
  return boot === (await bootID()) && Array.isArray(targets) ? targets.filter(isTarget) : [];
}

const bootID = async (): Promise<string> =>
  (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();

function isTarget(value: unknown): value is FreezeTarget {
  if (typeof value !== "object" || value === null || !("kind" in value) || !("path" in value)) return false;
  const { kind, path } = value;
  return (kind === "filesystem" || kind === "cgroup") && typeof path === "string" && path.startsWith("/");
}
