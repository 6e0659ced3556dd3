import { createRequire } from "node:module";
import { JsonChild } from "../json-child.ts";
import type { LibraryCall, LibraryPlace } from "./calls.ts";
import { LIBRARY_PROGRAM } from "./child/main.ts";
import type { LibraryReply, LibraryRequest } from "./child/messages.ts";

/** Calls at once: each waits for the cluster in a thread of its own. */
const THREADS = "16";
/** Each of its threads would keep a heap of its own. */
const SMALL_HEAP = { MALLOC_ARENA_MAX: "2", MALLOC_TRIM_THRESHOLD_: "131072" };
/** What is still under way in a process that is to end is left to programs after so long: it may be stuck. */
const GRACE_MS = 15_000;

/** The process has ended, and whether the call was carried out is not known. */
export class LibraryEnded extends Error {}

/** How a call ended that the library has made. */
export type LibraryOutcome = Exclude<LibraryReply, { ready: true }>;

interface Waiting {
  resolve(outcome: LibraryOutcome): void;
  reject(error: Error): void;
}

/**
 * A process with Ceph's own library, and a connection that stays: a program of Ceph takes most of its time for starting and for
 * finding the cluster. A process of its own, since the library ends the one it is in when it is at a loss, and since its calls cannot
 * be broken off: whoever waits no longer ends the process.
 */
export class RbdLibraryProcess {
  readonly #child: JsonChild<LibraryRequest, LibraryReply>;
  readonly #waiting = new Map<number, Waiting>();
  #ready = false;
  #next = 1;
  #ended = false;
  #retired = false;
  #grace: NodeJS.Timeout | undefined;

  constructor(place: LibraryPlace) {
    const koffi = createRequire(import.meta.url).resolve("koffi");
    this.#child = new JsonChild({
      ...{ program: LIBRARY_PROGRAM, args: [koffi, JSON.stringify(place)] },
      env: { UV_THREADPOOL_SIZE: THREADS, ...SMALL_HEAP },
      take: (reply) => this.#take(reply),
      ended: () => this.#end(),
    });
  }

  /** `no`: it cannot be, or is over. Nobody waits while it connects: a program is there as soon. */
  get connected(): "yes" | "not yet" | "no" {
    if (this.#ended || this.#retired) return "no";
    return this.#ready ? "yes" : "not yet";
  }

  get idle(): boolean {
    return this.#waiting.size === 0;
  }

  /** Throws LibraryEnded, and the signal's reason once that is aborted: then the process ends soon. */
  async make(call: LibraryCall, signal: AbortSignal | undefined): Promise<LibraryOutcome> {
    const id = this.#next++;
    const outcome = new Promise<LibraryOutcome>((resolve, reject) =>
      this.#waiting.set(id, { resolve, reject }),
    );
    const abort = () => {
      this.#retired = true;
      this.#waiting.get(id)?.reject(signal?.reason);
    };
    signal?.addEventListener("abort", abort, { once: true });
    this.#keepAlive();
    this.#child.send({ id, call });
    try {
      return await outcome;
    } finally {
      signal?.removeEventListener("abort", abort);
      this.#waiting.delete(id);
      if (this.#retired) this.retire();
      this.#keepAlive();
    }
  }

  /** Takes no more calls, and ends with the last that is under way, or a while later without. */
  retire(): void {
    this.#retired = true;
    if (this.#waiting.size === 0) this.#child.kill();
    else this.#grace ??= setTimeout(() => this.#child.kill(), GRACE_MS);
  }

  #take(reply: LibraryReply): void {
    if ("ready" in reply) {
      this.#ready = true;
      return;
    }
    this.#waiting.get(reply.id)?.resolve(reply);
    this.#waiting.delete(reply.id);
    this.#keepAlive();
  }

  #end(): void {
    this.#ended = true;
    clearTimeout(this.#grace);
    for (const { reject } of this.#waiting.values())
      reject(new LibraryEnded("the process that speaks with the Ceph cluster has ended"));
    this.#waiting.clear();
  }

  #keepAlive(): void {
    this.#child.keepUsAlive(this.#waiting.size > 0);
  }
}
