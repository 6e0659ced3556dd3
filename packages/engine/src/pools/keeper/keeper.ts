import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { open, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { EngineError } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { absent } from "../file-images.ts";
import { KEEPER_PROGRAM } from "./keeper-program.ts";
import type { KeeperLevels } from "./levels.ts";

/**
 * `absent`: no keeper runs. `open`: writes go on. `held`: they wait. `window`: they go on for a moment, for work that makes
 * room. `stuck`: they wait, and there is too little left even for that; only growing helps. A keeper outlives the agent
 * that started it, and so these words of its file stay as they are.
 */
type KeeperState = "absent" | "open" | "held" | "window" | "stuck";

/** What it has in the pool's folder, and how that begins. Made before it is needed: on a full disk it could not be. */
const FILES: Readonly<Record<string, string>> = {
  "keeper.state": `${" ".repeat(63)}\n`,
  "keeper.lock": "",
  "keeper.window": "",
  "keeper.rcu": "-",
};

const STATE = /^(open|held|window|stuck) (\d+) (\d+) *\n$/;
const PATIENCE_MS = 30_000;
const POLL_MS = 10;
/** Work that takes longer may be waiting for a frozen pool. */
const SUSPICIOUS_MS = 100;
const PATIENT_MS = 5000;

/** The process that freezes the writers of one pool before it is full; see `KEEPER_PROGRAM`. It outlives us. */
export class PoolKeeper {
  readonly #host: Host;
  readonly #folder: string;
  readonly #type: "xfs" | "btrfs";

  constructor(host: Host, folder: string, type: "xfs" | "btrfs") {
    this.#host = host;
    this.#folder = folder;
    this.#type = type;
  }

  /** Starts one for the mounted pool unless one is there. Resolves when it has read the pool for the first time. */
  async ensure(levels: KeeperLevels): Promise<void> {
    if ((await this.state()) !== "absent") return;
    await this.#makeFiles();
    const { freeze, resume } = levels;
    const args = ["-e", KEEPER_PROGRAM, this.#folder, this.#type, String(freeze), String(resume)];
    const child = spawn("perl", args, { detached: true, stdio: "ignore" });
    try {
      await once(child, "spawn");
    } catch (cause) {
      throw new EngineError("FAILED_PRECONDITION", "cannot start the keeper of a pool", {
        hint: "install perl",
        cause,
      });
    }
    child.unref();
    await this.#until("the keeper of the pool to start", async () => (await this.state()) !== "absent");
  }

  /** What the keeper reports, if it lives. */
  async state(): Promise<KeeperState> {
    const text = await readFile(join(this.#folder, "keeper.state"), "utf8").catch(absent);
    const [, state, pid = ""] = STATE.exec(text ?? "") ?? [];
    if (state === undefined || !(await this.#isKeeper(pid))) return "absent";
    return state as KeeperState;
  }

  async isSuspended(): Promise<boolean> {
    const state = await this.state();
    return state === "held" || state === "stuck" || state === "window";
  }

  /** Ends the keeper of a pool that no agent uses any more; a frozen pool is thawed. */
  async stop(): Promise<void> {
    const text = await readFile(join(this.#folder, "keeper.state"), "utf8").catch(absent);
    const pid = STATE.exec(text ?? "")?.[2] ?? "";
    await rm(join(this.#folder, "keeper.state"), { force: true });
    if (!(await this.#isKeeper(pid))) return;
    try {
      process.kill(Number(pid), "SIGUSR1");
    } catch {
      return;
    }
    await this.#until("the keeper of the pool to end", async () => !(await this.#isKeeper(pid)));
  }

  /**
   * Does work that makes room, also in a frozen pool: its writers go on meanwhile, as far as there is room for what they
   * write. Throws UNAVAILABLE when nothing is left for that, unless the work is itself the way out (`mayBeStuck`). Each work
   * may keep one of this process's few threads for files waiting in the kernel: nothing here needs one meanwhile.
   */
  async window<T>(work: () => Promise<T>, { mayBeStuck = false } = {}): Promise<T> {
    if (!mayBeStuck && (await this.state()) === "stuck") throw nothingLeft();
    let window: Promise<number> | undefined;
    // Asked for when the work waits in the kernel, so that it is first when the pool opens. A freeze may also come while
    // the work is under way. What the keeper does by itself (growing) is not to be disturbed.
    const ask = async (): Promise<void> => {
      if (this.#isSuspendedNow()) window ??= this.#ask();
      await window;
    };
    const watch = setInterval(() => void ask().catch(() => {}), mayBeStuck ? PATIENT_MS : SUSPICIOUS_MS);
    try {
      return await work();
    } finally {
      clearInterval(watch);
      const file = await window?.catch(() => undefined);
      if (file !== undefined) closeSync(file);
    }
  }

  /** A shared lock, which the kernel frees when we die. */
  async #ask(): Promise<number> {
    const file = openSync(join(this.#folder, "keeper.window"), "a", 0o600);
    try {
      const args = ["--shared", "3"];
      const child = spawn("flock", args, { stdio: ["ignore", "ignore", "ignore", file] });
      await once(child, "exit");
      return file;
    } catch (error) {
      closeSync(file);
      throw error;
    }
  }

  /** As {@link isSuspended}, but for whether it is the keeper that lives, and without a thread. */
  #isSuspendedNow(): boolean {
    try {
      const [, state = "open"] = STATE.exec(readFileSync(join(this.#folder, "keeper.state"), "utf8")) ?? [];
      return state !== "open";
    } catch {
      return false;
    }
  }

  async #makeFiles(): Promise<void> {
    for (const [name, begins] of Object.entries(FILES)) {
      const file = await open(join(this.#folder, name), "a", 0o600);
      try {
        if ((await file.stat()).size < begins.length) await file.write(begins);
      } finally {
        await file.close();
      }
    }
  }

  async #isKeeper(pid: string): Promise<boolean> {
    if (pid === "") return false;
    const name = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    return name.startsWith(`mooring-pool-keeper ${this.#folder}\0`);
  }

  async #until(what: string, condition: () => Promise<boolean>): Promise<void> {
    const deadline = this.#host.clock.sinceBoot() + PATIENCE_MS;
    while (!(await condition())) {
      if (this.#host.clock.sinceBoot() > deadline) {
        throw new EngineError("UNAVAILABLE", `waited ${PATIENCE_MS / 1000} s for ${what}`);
      }
      await this.#host.clock.sleep(POLL_MS);
    }
  }
}

/** Removes what a keeper had in the folder of a pool that is gone. */
export async function removeKeeperFiles(folder: string): Promise<void> {
  for (const name of Object.keys(FILES)) await rm(join(folder, name), { force: true });
}

function nothingLeft(): EngineError {
  return new EngineError("UNAVAILABLE", "the pool is full, and nothing is left for work in it", {
    hint: "make the pool larger",
  });
}
