import { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import { allowManyListeners } from "../runtime/wait.ts";

/** The head of a response, and its body: all of it, or as it arrives. */
export interface HttpResponse {
  code: number;
  /** Names and values in turn, as they came: of most responses nobody reads them. */
  headers: readonly Buffer[];
  body: string | Readable;
}

/** The value of a header; `name` in lower case. */
export function headerOf({ headers }: Pick<HttpResponse, "headers">, name: string): string | undefined {
  const at = headers.findIndex((each, index) => index % 2 === 0 && each.toString().toLowerCase() === name);
  return at < 0 ? undefined : headers[at + 1]?.toString();
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

/**
 * One request and its response, by undici's lowest interface: its higher ones make a stream of every body, and that is most of
 * what a small request costs. Also the one with controllers, above this, reads the headers of every response.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly response: Promise<HttpResponse>;
  readonly #options: ExchangeOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #chunks: Buffer[] = [];
  #resolve!: (response: HttpResponse) => void;
  #reject!: (error: Error) => void;
  #abortRequest: ((error: Error) => void) | undefined;
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

  onConnect(abort: (error: Error) => void): void {
    this.#abortRequest = abort;
    if (this.#ended !== undefined) abort(this.#ended);
  }

  /** False, here and below: what comes next waits until it is resumed. */
  onHeaders(code: number, headers: Buffer[], resume: () => void): boolean {
    if (code < 200) return true;
    this.#head = { code, headers };
    this.#timer.refresh();
    if (!this.#options.stream || code >= 300) return true;
    clearTimeout(this.#timer);
    this.#stream = new Readable({
      read: resume,
      destroy: (error, callback) => {
        this.#abortRequest?.(error ?? new Error("nobody reads on"));
        callback(error);
      },
    });
    this.#resolve({ ...this.#head, body: this.#stream });
    return true;
  }

  onData(chunk: Buffer): boolean {
    if (this.#stream !== undefined) return this.#stream.push(chunk);
    this.#timer.refresh();
    this.#chunks.push(chunk);
    return true;
  }

  onComplete(): void {
    this.#stop();
    this.#stream?.push(null);
    const [first] = this.#chunks;
    const bytes = first !== undefined && this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks);
    if (this.#head !== undefined) this.#resolve({ ...this.#head, body: bytes.toString() });
  }

  onError(error: Error): void {
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
    this.#abortRequest?.(error);
    this.#stream?.destroy(error);
    this.#reject(error);
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#options.signal?.removeEventListener("abort", this.#abort);
  }
}
