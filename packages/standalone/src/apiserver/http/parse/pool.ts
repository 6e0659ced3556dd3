import { Worker } from "node:worker_threads";
import { badRequest, StatusError } from "@mooring/store";
import type { Body } from "./body.ts";
import type { ParseRequest, ParseResult, WriteRequest } from "./worker.ts";

/** One body has the thread for so long at most; then the thread is ended with it. */
const LONGEST_MS = 5_000;
/** Bodies of one user that may wait. */
const MOST_WAITING = 16;
/** What a thread that reads 3 MiB may use. */
const LIMITS = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 };

type Work = Omit<ParseRequest, "id"> | Omit<WriteRequest, "id">;
type Outcome = Exclude<ParseResult, { refused: unknown }>;

interface Job {
  request: Work;
  resolve(outcome: Outcome): void;
  reject(error: Error): void;
}

/**
 * Reads large bodies, and writes YAML, in a thread of their own, one at a time, users in turn: whatever a client sends,
 * neither leases nor agents wait for it. The thread is started for the first of them.
 */
export class ParsePool {
  readonly #waiting = new Map<string, Job[]>();
  #worker: Worker | undefined;
  #online: Promise<unknown> = Promise.resolve();
  #running: { id: number; job: Job; timer?: NodeJS.Timeout } | undefined;
  #next = 0;
  #closed = false;

  /** Throws what `parseBody` throws, and TooManyRequests when the user has too many waiting. */
  async parse(user: string, request: Omit<ParseRequest, "id">): Promise<Body> {
    const outcome = await this.#queue(user, request);
    if (!("json" in outcome)) throw new Error("the thread of bodies has returned something else");
    return { value: JSON.parse(outcome.json), duplicates: outcome.duplicates };
  }

  /** JSON as YAML; `elements`: what is in a list, as it stands below the list's name. Throws as {@link parse} does. */
  async toYaml(user: string, json: string, as: WriteRequest["as"] = "value"): Promise<string> {
    const outcome = await this.#queue(user, { json, as });
    if (!("yaml" in outcome)) throw new Error("the thread of bodies has returned something else");
    return outcome.yaml;
  }

  #queue(user: string, request: Work): Promise<Outcome> {
    const jobs = this.#waiting.get(user) ?? [];
    if (jobs.length >= MOST_WAITING) return Promise.reject(busy());
    return new Promise((resolve, reject) => {
      jobs.push({ request, resolve, reject });
      this.#waiting.set(user, jobs);
      this.#take();
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const job of [...this.#waiting.values()].flat()) job.reject(stopped());
    this.#waiting.clear();
    await this.#replace(stopped());
  }

  /** The next body of the user whose turn it is; that user is the last one then. */
  #take(): void {
    const [turn] = this.#waiting;
    if (this.#running !== undefined || turn === undefined || this.#closed) return;
    const [user, jobs] = turn;
    this.#waiting.delete(user);
    const job = jobs.shift();
    if (job === undefined) return;
    if (jobs.length > 0) this.#waiting.set(user, jobs);
    const id = this.#next++;
    this.#running = { id, job };
    this.#thread().postMessage({ id, ...job.request } satisfies ParseRequest | WriteRequest);
    // The start of a thread takes seconds on a busy machine, and is no fault of the body.
    void this.#online.then(() => this.#limit(id));
  }

  #limit(id: number): void {
    if (this.#running?.id !== id) return;
    const late = badRequest("the body takes too long: less at once, or JSON instead of YAML");
    this.#running.timer = setTimeout(() => void this.#replace(late), LONGEST_MS);
  }

  #thread(): Worker {
    if (this.#worker !== undefined) return this.#worker;
    const worker = startThread();
    // A server that stops does not wait for it.
    worker.unref();
    this.#online = new Promise((resolve) => worker.once("online", resolve));
    worker.on("message", (result: ParseResult) => this.#settle(result));
    worker.on("error", (error: NodeJS.ErrnoException) => {
      const large = error.code === "ERR_WORKER_OUT_OF_MEMORY";
      const why = large
        ? "the body takes too much memory to read"
        : `the body cannot be read: ${error.message}`;
      if (this.#worker === worker) void this.#replace(badRequest(why));
    });
    this.#worker = worker;
    return worker;
  }

  #settle(result: ParseResult): void {
    const running = this.#running;
    if (running?.id !== result.id) return;
    clearTimeout(running.timer);
    this.#running = undefined;
    if ("refused" in result)
      running.job.reject(new StatusError(result.refused.reason, result.refused.message));
    else running.job.resolve(result);
    this.#take();
  }

  /** Ends the thread with what it works on; the next body gets a new one. */
  async #replace(error: StatusError): Promise<void> {
    const { job, timer } = this.#running ?? {};
    const worker = this.#worker;
    clearTimeout(timer);
    this.#running = undefined;
    this.#worker = undefined;
    job?.reject(error);
    this.#take();
    await worker?.terminate();
  }
}

function startThread(): Worker {
  // Where the program is one file, so is the thread, as a text in it.
  const source = process.env.MOORING_PARSE_THREAD;
  if (source !== undefined) return new Worker(source, { eval: true, resourceLimits: LIMITS });
  return new Worker(new URL("./worker.js", import.meta.url), { resourceLimits: LIMITS });
}

const stopped = () => new StatusError("ServiceUnavailable", "the server stops");

function busy(): StatusError {
  return new StatusError("TooManyRequests", "too many large bodies at once: try again", {
    retryAfterSeconds: 1,
  });
}
