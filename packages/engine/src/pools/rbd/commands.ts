import { join } from "node:path";
import { orAborted, within } from "@mooring/store";
import { EngineError, type EngineErrorCode } from "../../errors.ts";
import type { Clock, Exec, ExecResult } from "../../host/host.ts";
import { CLIENT_CONF, writeClientConf } from "./client-conf.ts";
import { isFullPool, PoolFull, waitsForRoom } from "./fullness.ts";
import { describePlace, type RbdPlace } from "./place.ts";

/** What a command that only reads, or changes a record, may take. */
const SHORT_MS = 15_000;
/** Removing and filling go over all the data of an image. */
export const LONG_MS: number = 3_600_000;
/**
 * After a command that the cluster has not responded to, the others are not tried for so long: each would wait as well. Of a full
 * pool those that would write.
 */
const SILENCE_MS = 15_000;
const LIST_POOLS = "osd pool ls detail --format json".split(" ");

/** Exit codes of `rbd` and `ceph` are numbers of errors. */
export const ENOENT = 2;
/** Somebody has the image open. */
export const EBUSY = 16;
/** The image is in a group. */
export const EMLINK = 31;
/** Clones still need the image. */
export const ENOTEMPTY = 39;
const MEANINGS: Readonly<Record<number, EngineErrorCode>> = {
  1: "PERMISSION_DENIED",
  13: "PERMISSION_DENIED",
  [EBUSY]: "FAILED_PRECONDITION",
  17: "ALREADY_EXISTS",
  28: "RESOURCE_EXHAUSTED",
  110: "UNAVAILABLE",
  122: "RESOURCE_EXHAUSTED",
};

/** How a command is to be run. */
export interface CommandOptions {
  signal?: AbortSignal | undefined;
  /** Milliseconds; default 15 s. */
  limit?: number;
  /** Exit codes that are no failure. */
  allow?: readonly number[];
}

/** Where commands run, and for which pool. */
export interface RbdCommandsOptions {
  exec: Exec;
  clock: Clock;
  place: RbdPlace;
  /** Absolute folder for our own configuration file. */
  folder: string;
}

/**
 * The programs `rbd` and `ceph` for one pool. Each command has a time limit, and while the cluster is silent only one now and
 * then is tried: whoever waits for another pool's volumes is not to wait for this one's. A full pool keeps writers waiting, and the
 * cluster responds to all else: what would write fails at once then.
 */
export class RbdCommands {
  readonly #options: RbdCommandsOptions;
  #conf = "";
  /** By the clock since boot: until then the cluster is taken to be silent. */
  #silentUntil = 0;
  /** The same of a pool that is full. */
  #fullUntil = 0;

  constructor(options: RbdCommandsOptions) {
    this.#options = options;
  }

  /** Absolute path of the configuration file that our clients use. */
  get conf(): string {
    return this.#conf;
  }

  /** Arguments for a command that makes one image of another: where the new one is to be. */
  get destination(): string[] {
    const { pool, namespace } = this.#options.place;
    return ["--dest-pool", pool, ...(namespace === undefined ? [] : ["--dest-namespace", namespace])];
  }

  /** Before the first command. */
  async prepare(): Promise<void> {
    const { folder, place } = this.#options;
    this.#conf = await writeClientConf(folder, place);
  }

  /** For a pool that this node has open: the file is there. */
  reuse(): void {
    this.#conf = join(this.#options.folder, CLIENT_CONF);
  }

  /** `rbd` with the arguments that name cluster and pool. Throws UNAVAILABLE when the cluster does not respond in time. */
  rbd(args: readonly string[], options: CommandOptions = {}): Promise<ExecResult> {
    return this.#run("rbd", [...this.#where(), ...args], options);
  }

  /** `rados`, for what other programs keep in objects of the pool. */
  rados(args: readonly string[], options: CommandOptions = {}): Promise<ExecResult> {
    return this.#run("rados", [...this.#where(), ...args], options);
  }

  #where(): string[] {
    const { pool, namespace } = this.#options.place;
    return ["--pool", pool, ...(namespace === undefined ? [] : ["--namespace", namespace])];
  }

  /** `ceph`, for what is known of the cluster. */
  ceph(args: readonly string[], options: CommandOptions = {}): Promise<ExecResult> {
    return this.#run("ceph", args, options);
  }

  async #run(program: string, args: readonly string[], options: CommandOptions): Promise<ExecResult> {
    const { exec, clock, place } = this.#options;
    const { signal, limit = SHORT_MS, allow = [] } = options;
    const now = clock.sinceBoot();
    if (now < this.#silentUntil) throw silent(place);
    if (program === "rbd" && now < this.#fullUntil && waitsForRoom(place, args)) throw new PoolFull(place);
    // The next one tries, and the others go on without.
    if (this.#silentUntil > 0) this.#silentUntil = now + SILENCE_MS;
    const whole = ["--conf", this.#conf, "--id", place.user, ...args];
    const run = (first: AbortSignal) =>
      // Also when the program cannot be killed: it may wait in the kernel.
      orAborted(exec.try(program, whole, { signal: first, env: { TZ: "UTC" } }), first);
    const ended = await within(limit, signal, run).catch(async (error: unknown) => {
      // A caller that has no more time says nothing about the cluster.
      if (!isTimeout(error) || signal?.aborted) throw error;
      this.#silentUntil = clock.sinceBoot() + SILENCE_MS;
      if (program !== "rbd" || !(await this.#isFull(signal))) throw silent(place, error);
      this.#silentUntil = 0;
      this.#fullUntil = clock.sinceBoot() + SILENCE_MS;
      throw new PoolFull(place, error);
    });
    this.#silentUntil = 0;
    if (program === "rbd" && waitsForRoom(place, args)) this.#fullUntil = 0;
    const { exitCode } = ended;
    const result = { ...ended, stderr: withoutKeys(ended.stderr) };
    if (exitCode === 0 || (exitCode !== null && allow.includes(exitCode))) return result;
    throw failed(program, args, result);
  }

  /** Asked of the monitors, which know of it while nothing is written. False as well when they do not respond. */
  async #isFull(signal: AbortSignal | undefined): Promise<boolean> {
    const { exec, place } = this.#options;
    const args = ["--conf", this.#conf, "--id", place.user, ...LIST_POOLS];
    const ask = (first: AbortSignal) => orAborted(exec.try("ceph", args, { signal: first }), first);
    const asked = await within(SHORT_MS, signal, ask).catch(() => undefined);
    return asked?.exitCode === 0 && isFullPool(asked.stdout, place);
  }
}

function isTimeout(error: unknown): boolean {
  return error instanceof DOMException && error.name === "TimeoutError";
}

function silent(place: RbdPlace, cause?: unknown): EngineError {
  return new EngineError("UNAVAILABLE", `the Ceph cluster of ${describePlace(place)} does not respond`, {
    hint: "check its monitors and OSDs, and the network: ceph status",
    cause,
  });
}

/** Without the arguments that are the same for all, and without the clients' own log lines. */
function failed(program: string, args: readonly string[], { exitCode, stderr }: ExecResult): EngineError {
  const lines = stderr.split("\n").filter((line) => line.trim() !== "" && !/^\d{4}-\d\d-\d\dT/.test(line));
  const what = lines.slice(-2).join("; ").trim() || stderr.trim().slice(-200);
  const code = MEANINGS[exitCode ?? -1] ?? "INTERNAL";
  return new EngineError(code, `${program} ${args.join(" ")} failed (${exitCode ?? "killed"}): ${what}`);
}

/** Ceph's clients print a key that they cannot read. */
export function withoutKeys(text: string): string {
  return text.replace(/key '[^']*'?/g, "a key");
}
