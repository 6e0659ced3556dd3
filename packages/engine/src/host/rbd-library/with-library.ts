import { readFileSync, statSync } from "node:fs";
import type { Exec, ExecOptions, ExecResult } from "../host.ts";
import { callOf, featureNames, type LibraryCall, type LibraryCluster, type LibraryPlace } from "./calls.ts";
import type { LibraryInfo } from "./child/messages.ts";
import { LibraryEnded, type LibraryOutcome, RbdLibraryProcess } from "./library.ts";

/** Without a call for so long a process ends, and the next call starts another one. */
const IDLE_MS = 60_000;
/** One that could not be connected is not tried again before: the program says why. */
const AGAIN_MS = 60_000;
const ENOENT = 2;
/** The cluster takes nothing of this client any more. */
const ESHUTDOWN = 108;
/** Of what is removed: it is open (EBUSY), in a group (EMLINK), or copies need it (ENOTEMPTY). To ask the program as well would change nothing. */
const STAYS: ReadonlySet<number> = new Set([16, 31, 39]);
/** librbd.h: RBD_SNAP_NAMESPACE_TYPE_GROUP */
const OF_A_GROUP = 1;

interface Connection {
  cluster: LibraryCluster;
  /** Of the configuration and the key that it was begun with. */
  version: string;
  process: RbdLibraryProcess;
  /** By the clock since boot, in milliseconds. */
  begun: number;
  /** It was connected once. */
  works: boolean;
  idle: NodeJS.Timeout | undefined;
}

/**
 * The same, with what Ceph's programs do to images done by Ceph's library in a process that stays connected. What the library does not do, or
 * fails to do, is left to the program: its words and exit codes count. `sinceBoot`: milliseconds.
 */
export function withRbdLibrary(exec: Exec, sinceBoot: () => number): Exec {
  const library = new RbdLibrary(sinceBoot);
  const tried: Exec["try"] = async (file, args, options = {}) =>
    (await library.try(file, args, options)) ?? exec.try(file, args, options);
  return { ...exec, try: tried };
}

class RbdLibrary {
  readonly #connections = new Map<string, Connection>();
  readonly #sinceBoot: () => number;

  constructor(sinceBoot: () => number) {
    this.#sinceBoot = sinceBoot;
  }

  /** Undefined: the program is to do it. */
  async try(
    program: string,
    args: readonly string[],
    { signal }: ExecOptions,
  ): Promise<ExecResult | undefined> {
    const asked = callOf(program, args);
    if (asked === undefined) return undefined;
    signal?.throwIfAborted();
    const process = "pool" in asked.at ? this.#connected(asked.at) : this.#anyOf(asked.at);
    if (process === undefined) return undefined;
    try {
      const outcome = await process.make(asked.call, signal);
      if ("errno" in outcome && isOfBefore(outcome)) process.retire();
      return resultOf(asked.call, outcome);
    } catch (error) {
      // The program finds what has been done, and says how it is.
      if (error instanceof LibraryEnded) return undefined;
      throw error;
    }
  }

  /** Undefined until it is connected, which takes as long as a program: so the first calls are a program's. */
  #connected(place: LibraryPlace): RbdLibraryProcess | undefined {
    const key = JSON.stringify(place);
    const version = versionOf(place.conf);
    let connection = this.#connections.get(key);
    const isNew = connection?.version !== version;
    if (isNew) connection?.process.retire();
    if (connection === undefined || isNew || connection.process.connected === "no") {
      const now = this.#sinceBoot();
      if (!isNew && connection?.works === false && now < connection.begun + AGAIN_MS) return undefined;
      connection = {
        ...{ cluster: place, version, process: new RbdLibraryProcess(place) },
        ...{ begun: now, works: false, idle: undefined },
      };
      this.#connections.set(key, connection);
    }
    this.#endWhenIdle(key, connection);
    if (connection.process.connected === "not yet") return undefined;
    connection.works = true;
    return connection.process;
  }

  /** Of the cluster itself any connection knows: none is begun for that. */
  #anyOf({ conf, user }: LibraryCluster): RbdLibraryProcess | undefined {
    const now = versionOf(conf);
    for (const { cluster, version, process } of this.#connections.values())
      if (cluster.conf === conf && cluster.user === user && version === now && process.connected === "yes")
        return process;
    return undefined;
  }

  #endWhenIdle(key: string, connection: Connection): void {
    clearTimeout(connection.idle);
    connection.idle = setTimeout(() => {
      if (!connection.process.idle) return this.#endWhenIdle(key, connection);
      connection.process.retire();
      if (this.#connections.get(key) === connection) this.#connections.delete(key);
    }, IDLE_MS).unref();
  }
}

/** Of the configuration file and the key that it names: both are read once for a connection, and by each program. */
function versionOf(conf: string): string {
  let text = "";
  try {
    text = readFileSync(conf, "utf8");
  } catch {
    // The program says what is wrong with it.
  }
  const keys = [...text.matchAll(/^key(?:ring|file) = (.+)$/gm)].map(([, path = ""]) => path);
  return [conf, ...keys].map(stampOf).join();
}

function stampOf(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  return found === undefined ? "" : [found.dev, found.ino, found.mtimeMs, found.size].join(" ");
}

/** The client has been shut out, or the pool is not the one that it has opened: the next one begins anew. */
function isOfBefore({ errno, absent }: { errno: number; absent: boolean }): boolean {
  return errno === ESHUTDOWN || (errno === ENOENT && !absent);
}

/** As the program would have ended; undefined: it is to say what is wrong. */
function resultOf(call: LibraryCall, outcome: LibraryOutcome): ExecResult | undefined {
  if ("value" in outcome) {
    const printed = textOf(call, outcome.value);
    return printed === undefined ? undefined : ended(0, { stdout: printed });
  }
  const { errno, absent } = outcome;
  if (absent && call.do === "metadata") return ended(1, { stderr: `No such key: ${call.key}` });
  // Which of the two that a copy is made of is not there only the program says.
  if (absent && call.do === "clone") return undefined;
  if (absent) return ended(ENOENT, { stderr: `rbd: ${wordsOf(call)}: (2) No such file or directory` });
  if (call.do === "remove-from-trash" && STAYS.has(errno)) return ended(errno, {});
  return undefined;
}

function wordsOf(call: LibraryCall): string {
  if ("snapshot" in call) return `error opening image or snapshot ${call.image}@${call.snapshot}`;
  if ("imageId" in call) return `error opening image id ${call.imageId}`;
  return `error opening image ${"name" in call ? call.name : ""}`;
}

function ended(exitCode: number, texts: Partial<Pick<ExecResult, "stdout" | "stderr">>): ExecResult {
  return { exitCode, signal: null, stdout: "", stderr: "", ...texts };
}

/** What the program prints, as far as it is read. */
function textOf(call: LibraryCall, value: unknown): string | undefined {
  switch (call.do) {
    case "info":
    case "info-by-id":
      return JSON.stringify(printedInfo(value as LibraryInfo));
    case "watchers":
      return JSON.stringify({ watchers: (value as string[]).map((address) => ({ address })) });
    case "metadata":
      return omapText(value as string);
    case "groups":
    case "images":
    case "room":
      return JSON.stringify(value);
    case "snapshots": {
      const types = value as number[];
      // Which group's it is the program knows.
      if (types.includes(OF_A_GROUP)) return undefined;
      return JSON.stringify(types.map(() => ({ namespace: { type: "other" } })));
    }
    default:
      return "";
  }
}

function printedInfo({ features, madeAt, ...info }: LibraryInfo): object {
  const time = new Date(madeAt * 1000).toISOString();
  return { ...info, features: featureNames(features), create_timestamp: time.slice(0, 19).replace("T", " ") };
}

/** As `rados` dumps the bytes of a value. */
function omapText(value: string): string {
  const bytes = Buffer.from(value);
  const rows: string[] = [];
  for (let at = 0; at < bytes.length; at += 16) {
    const row = [...bytes.subarray(at, at + 16)].map((byte) => byte.toString(16).padStart(2, "0"));
    rows.push(`${at.toString(16).padStart(8, "0")}  ${row.join(" ")}  |`);
  }
  return [`value (${bytes.length} bytes) :`, ...rows, ""].join("\n");
}
