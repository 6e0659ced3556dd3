import { once } from "node:events";
import { MessageChannel, Worker } from "node:worker_threads";
import type { MetricFamily } from "@mooring/csi";
import { defined, type LocalStore, type Logger, serveStore } from "@mooring/store";
import type { KindChanges } from "../../crd/kind-changes.ts";
import type { ApiServer } from "../start.ts";
import type { FromThread, ServeData, ThreadData, ToThread } from "./protocol.ts";
import { writeLog } from "./remote-logger.ts";

/** What the thread works with. */
export interface ApiThreadOptions {
  store: LocalStore;
  /** The kinds of definitions. */
  changes: KindChanges;
  logger: Logger;
  /** For `/metrics`, the process's own among them. */
  measure(): Promise<MetricFamily[]>;
  /** Ends the thread. */
  signal: AbortSignal;
  /** The thread's program; default: the one that comes with this package. */
  program?: string | URL;
}

/** An API server that serves from another thread. */
export interface ServingThread extends Omit<ApiServer, "tokens"> {
  /** Lists and watches that it has begun in the store and not ended. */
  streams(): number;
}

/**
 * The API server in a thread of its own: what those who ask have sent is read, checked and merged there. Whatever one of them
 * makes it do, this thread goes on: leases, agents, controllers.
 */
export class ApiThread {
  readonly #worker: Worker;
  readonly #options: ApiThreadOptions;
  readonly #streams: () => number;
  /** Settles when the thread has ended; rejects when it has done so by itself. */
  readonly done: Promise<void>;

  /** Begins to load it, side by side with whatever this thread does. */
  constructor(options: ApiThreadOptions) {
    this.#options = options;
    const { store, changes, signal } = options;
    const { link, transfer, streams } = serveStore(store, { epoch: () => changes.count, signal });
    this.#streams = streams;
    const kinds = new MessageChannel();
    const unfollow = changes.follow((change) => kinds.port1.postMessage(change));
    this.#worker = new Worker(options.program ?? threadProgram(), {
      workerData: { link, kinds: kinds.port2 } satisfies ThreadData,
      transferList: [...transfer, kinds.port2] as never,
    });
    this.#worker.on("message", (message: FromThread) => this.#hear(message));
    this.done = this.#ended().finally(() => {
      unfollow();
      kinds.port1.close();
    });
  }

  /** Resolves when it listens. Its `done` settles when it has closed its port, after the signal. */
  async serve(options: ServeData, signal: AbortSignal): Promise<ServingThread> {
    const { promise: stopped, resolve: stop } = promise<void>();
    const { promise: serving, resolve, reject } = promise<Extract<FromThread, { is: "serving" }>>();
    this.#worker.on("message", (message: FromThread) => {
      if (message.is === "serving") resolve(message);
      if (message.is === "failed")
        reject(Object.assign(message.error, defined({ code: message.code, hint: message.hint })));
      if (message.is === "stopped") stop();
    });
    this.done.then(() => reject(new Error("the API server's thread has ended")), reject);
    this.done.then(stop, () => stop());
    this.#post({ do: "serve", options });
    const { url, caPem, token, kubeconfig } = await serving;
    const end = () => this.#post({ do: "stop" });
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
    return { url, caPem, token, kubeconfig, done: stopped, streams: this.#streams };
  }

  #post(message: ToThread): void {
    this.#worker.postMessage(message);
  }

  #hear(message: FromThread): void {
    if (message.is === "log") writeLog(this.#options.logger, message);
    if (message.is === "measuring") void this.#measure(message.id);
  }

  async #measure(id: number): Promise<void> {
    const { logger, measure } = this.#options;
    const families = await measure().catch((error: unknown) => {
      logger.error({ err: error }, "cannot measure");
      return [];
    });
    this.#post({ do: "measured", id, families });
  }

  async #ended(): Promise<void> {
    const { signal } = this.#options;
    const failed = once(this.#worker, "exit").then(() => {
      if (!signal.aborted) throw new Error("the API server's thread has ended by itself");
    });
    // `once` rejects with an error of the thread.
    const over = new AbortController();
    const aborted = signal.aborted
      ? Promise.resolve()
      : once(signal, "abort", { signal: over.signal }).catch(() => {});
    try {
      await Promise.race([failed, aborted]);
    } finally {
      over.abort();
      failed.catch(() => {});
      await this.#worker.terminate();
    }
  }
}

function promise<T>(): { promise: Promise<T>; resolve(value: T): void; reject(error: unknown): void } {
  let [resolve, reject]: [(value: T) => void, (error: unknown) => void] = [() => {}, () => {}];
  const made = new Promise<T>((yes, no) => {
    [resolve, reject] = [yes, no];
  });
  made.catch(() => {});
  return { promise: made, resolve, reject };
}

/** Beside this file, or where a program that is few files has it. */
function threadProgram(): URL {
  return new URL(process.env.MOORING_API_THREAD ?? "./main.js", import.meta.url);
}
