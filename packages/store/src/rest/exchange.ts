import { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import { allowManyListeners } from "../runtime/wait.ts";

/** The head of a response, and its body: all of it, or as it arrives. */
export interface HttpResponse {
  code: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: string | Readable;
}

/** What to do with one exchange. */
export interface ExchangeOptions {
  /** Longest silence of the server, in milliseconds; of a body that is read as it arrives its reader decides. */
  timeoutMs: number;
  /** The body of a success is passed on as it arrives. */
  stream: boolean;
  signal?: AbortSignal | undefined;
  /** No head of a response came in its time. */
  onSilence(): void;
}

type Controller = Dispatcher.DispatchController;

/**
 * One request and its response, by undici's lowest interface: its higher ones make a stream of every body, and that is most of
 * what a small request costs.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly response: Promise<HttpResponse>;
  readonly #options: ExchangeOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #chunks: Buffer[] = [];
  #resolve!: (response: HttpResponse) => void;
  #reject!: (error: Error) => void;
  #controller: Controller | undefined;
  #head: Omit<HttpResponse, "body"> | undefined;
  #stream: Readable | undefined;
  /** Why it ended before its response. */
  #ended: Error | undefined;

  constructor(options: ExchangeOptions) {
    const { signal, timeoutMs } = options;
    this.#options = options;
    this.response = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#timer = setTimeout(() => this.#silent(), timeoutMs);
    allowManyListeners(signal);
    if (signal?.aborted) this.#abort();
    else signal?.addEventListener("abort", this.#abort, { once: true });
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller;
    if (this.#ended !== undefined) controller.abort(this.#ended);
  }

  onResponseStart(controller: Controller, code: number, headers: HttpResponse["headers"]): void {
    if (code < 200) return;
    this.#head = { code, headers };
    this.#timer.refresh();
    if (!this.#options.stream || code >= 300) return;
    clearTimeout(this.#timer);
    this.#stream = new Readable({
      read: () => controller.resume(),
      destroy: (error, callback) => {
        controller.abort(error ?? new Error("nobody reads on"));
        callback(error);
      },
    });
    this.#resolve({ ...this.#head, body: this.#stream });
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#stream !== undefined) {
      if (!this.#stream.push(chunk)) controller.pause();
      return;
    }
    this.#timer.refresh();
    this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    this.#stop();
    this.#stream?.push(null);
    const [first] = this.#chunks;
    const bytes = first !== undefined && this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks);
    if (this.#head !== undefined) this.#resolve({ ...this.#head, body: bytes.toString() });
  }

  onResponseError(_controller: Controller, error: Error): void {
    this.#stop();
    this.#stream?.destroy(error);
    this.#reject(error);
  }

  #silent(): void {
    const { timeoutMs, onSilence } = this.#options;
    if (this.#head === undefined) onSilence();
    const what = this.#head === undefined ? "no response" : "the response stopped";
    this.#end(new Error(`${what} for ${timeoutMs} ms`));
  }

  readonly #abort = (): void => {
    this.#end(new Error("aborted", { cause: this.#options.signal?.reason }));
  };

  /** Also while the connection is still being made, of which undici gives no sign. */
  #end(error: Error): void {
    this.#stop();
    this.#ended = error;
    this.#controller?.abort(error);
    this.#stream?.destroy(error);
    this.#reject(error);
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#options.signal?.removeEventListener("abort", this.#abort);
  }
}
