import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { EngineError } from "../../errors.ts";
import { FREEZER_SCRIPT } from "./freezer-script.ts";

/** Something whose writers can be kept still. */
export interface FreezeTarget {
  kind: "filesystem" | "cgroup";
  /** Where the file system is mounted, or the folder of a version 2 control group. */
  path: string;
}

/** Why a target could not be frozen. */
export class FreezeError extends EngineError {
  /** The one, or all that were not still in time. */
  readonly targets: readonly FreezeTarget[];
  /** Frozen by another program already. */
  readonly busy: boolean;

  constructor(targets: readonly FreezeTarget[], message: string, hint: string, busy = false) {
    super("FAILED_PRECONDITION", message, { hint });
    this.targets = targets;
    this.busy = busy;
  }
}

/** Ready to freeze; nothing is frozen before `freeze`. */
export interface Freezer {
  /**
   * Resolves when all targets are still, for `seconds` from now: fewer than it was armed for, where some of that time
   * is over. Throws a FreezeError, with everything thawed again.
   */
  freeze(seconds?: number): Promise<void>;
  /** Lets everybody go on. False: the time was over before, so what was done meanwhile was not covered. */
  thaw(): Promise<boolean>;
}

/** How long a thaw may take before its target is reported: another program may have frozen it. */
const THAW_MS = 15_000;

/** `timeout 0` would wait for ever. */
const LEAST_SECONDS = 0.001;

/**
 * Starts what will freeze the targets, all of one kind, at most `maxSeconds` from the moment of `freeze` on. `note`: path
 * of a file that is removed once none of them is frozen any more, whether we live to see it or not.
 */
export async function armFreezer(
  targets: readonly FreezeTarget[],
  maxSeconds: number,
  note = "",
): Promise<Freezer> {
  const freezer = new FreezeProcess(targets, maxSeconds, note);
  await freezer.armed();
  return freezer;
}

type Phase = "waiting" | "frozen" | "failed" | "thawed" | "stuck";

class FreezeProcess implements Freezer {
  readonly #targets: readonly FreezeTarget[];
  readonly #seconds: number;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #phases: Phase[];
  readonly #watchers = new Set<() => void>();
  #armed = false;
  #ended = false;
  /** Exit code of what waits for our thaw; undefined while it does. */
  #released: number | undefined;
  #complaint = "";

  constructor(targets: readonly FreezeTarget[], seconds: number, note: string) {
    this.#targets = targets;
    this.#seconds = seconds;
    this.#phases = targets.map(() => "waiting");
    const args = targets.flatMap(({ kind, path }) => [kind, path]);
    this.#child = spawn("sh", ["-c", FREEZER_SCRIPT, "mooring-freeze", note, ...args], {
      detached: true,
      stdio: ["pipe", "pipe", "pipe"],
      env: { ...process.env, LC_ALL: "C" },
    });
    this.#child.stdin.on("error", () => {});
    this.#child.stderr.on("data", (chunk: Buffer) => {
      this.#complaint = (this.#complaint + chunk.toString()).slice(-2000);
    });
    createInterface({ input: this.#child.stdout }).on("line", (line) => this.#hear(line));
    this.#child.once("error", (error) => {
      this.#complaint = error.message;
      this.#end();
    });
    this.#child.once("close", () => this.#end());
  }

  async armed(): Promise<void> {
    await this.#until(() => this.#armed);
    if (!this.#armed) throw new EngineError("INTERNAL", `cannot start a freeze: ${this.#complaint.trim()}`);
  }

  async freeze(seconds: number = this.#seconds): Promise<void> {
    this.#child.stdin.write(`${Math.max(LEAST_SECONDS, seconds).toFixed(3)}\n`);
    const over = (): boolean => this.#released !== undefined || this.#phases.includes("failed");
    await this.#until(() => over() || this.#phases.every((phase) => phase === "frozen"));
    if (!over() && !this.#ended) await this.#groupsStill();
    if (!over() && !this.#ended) return;
    const failure = await this.#failure();
    await this.thaw().catch(() => {});
    throw failure;
  }

  async thaw(): Promise<boolean> {
    this.#child.stdin.end();
    const busy = (phase: Phase): boolean => phase === "frozen";
    await this.#until(() => this.#released !== undefined && !this.#phases.some(busy), THAW_MS);
    const left = this.#targets.filter((_, index) => ["frozen", "stuck"].includes(this.#phases[index] ?? ""));
    // The program that froze them was killed, perhaps.
    const undone = await Promise.all(left.map(undo));
    const stuck = left.filter((_, index) => undone[index] !== true);
    if (stuck.length > 0) {
      const paths = stuck.map(({ path }) => path).join(", ");
      throw new EngineError("INTERNAL", `${paths} may still be frozen: ${this.#complaint.trim()}`, {
        hint: stuck.map(undoCommand).join("; "),
      });
    }
    return this.#released === 0;
  }

  /** Control groups are still only when their last process has come to its stop. */
  async #groupsStill(): Promise<void> {
    for (const [index, { kind, path }] of this.#targets.entries()) {
      if (kind !== "cgroup") continue;
      for (
        let wait = 1;
        this.#released === undefined && !(await isStill(path));
        wait = Math.min(wait * 2, 20)
      ) {
        this.#phases[index] = "waiting";
        await new Promise((resolve) => setTimeout(resolve, wait));
      }
      this.#phases[index] = this.#released === undefined ? "frozen" : (this.#phases[index] ?? "waiting");
    }
  }

  async #failure(): Promise<FreezeError> {
    const failed = this.#targets.filter((_, index) => this.#phases[index] === "failed");
    // The complaint comes through another pipe.
    if (failed.length > 0) await new Promise((resolve) => setTimeout(resolve, 20));
    const complaint = this.#complaint.trim();
    if (failed.length > 0) {
      const busy = /busy/i.test(complaint);
      const hint = busy ? "another program has frozen it: thaw it first" : "is it still there?";
      return new FreezeError(failed, `cannot freeze ${namesOf(failed)}: ${complaint}`, hint, busy);
    }
    const late = this.#targets.filter((_, index) => this.#phases[index] === "waiting");
    const message = `${namesOf(late)} did not come to a stop within ${this.#seconds} s`;
    return new FreezeError(late, message, "find a device that does not respond, or raise the deadline");
  }

  #hear(line: string): void {
    const [phase = "", number = ""] = line.split(" ");
    if (phase === "armed") this.#armed = true;
    else if (phase === "released") this.#released = Number(number);
    else this.#phases[Number(number)] = phase as Phase;
    for (const watcher of this.#watchers) watcher();
  }

  #end(): void {
    this.#ended = true;
    this.#released ??= -1;
    for (const watcher of this.#watchers) watcher();
  }

  #until(done: () => boolean, maxMs?: number): Promise<void> {
    return new Promise((resolve) => {
      const finish = (): void => {
        clearTimeout(timer);
        this.#watchers.delete(check);
        resolve();
      };
      const check = (): void => {
        if (this.#ended || done()) finish();
      };
      const timer = maxMs === undefined ? undefined : setTimeout(finish, maxMs);
      this.#watchers.add(check);
      check();
    });
  }
}

/** True when it is not frozen any more, or not there. */
async function undo({ kind, path }: FreezeTarget): Promise<boolean> {
  if (kind === "cgroup") {
    return writeFile(join(path, "cgroup.freeze"), "0").then(
      () => true,
      () => !existsSync(path),
    );
  }
  const child = spawn("fsfreeze", ["--unfreeze", path], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, LC_ALL: "C" },
  });
  let complaint = "";
  child.stderr.on("data", (chunk: Buffer) => {
    complaint += chunk.toString();
  });
  return new Promise((resolve) => {
    child.once("error", () => resolve(false));
    // EINVAL: it was not frozen, so another program has thawed it meanwhile.
    child.once("close", (code) => resolve(code === 0 || complaint.includes("Invalid argument")));
  });
}

const namesOf = (targets: readonly FreezeTarget[]): string => targets.map(({ path }) => path).join(", ");

function undoCommand({ kind, path }: FreezeTarget): string {
  return kind === "filesystem" ? `fsfreeze --unfreeze ${path}` : `echo 0 > ${path}/cgroup.freeze`;
}

async function isStill(group: string): Promise<boolean> {
  return /^frozen 1$/m.test(await readFile(join(group, "cgroup.events"), "utf8").catch(() => ""));
}
