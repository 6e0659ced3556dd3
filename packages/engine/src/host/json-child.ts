import { type ChildProcess, spawn } from "node:child_process";
import { Socket } from "node:net";

const NODE_OPTIONS = ["--max-old-space-size=64", "--v8-pool-size=0", "--no-warnings"];

/** How a program is run that is given as its text. */
export interface JsonChildOptions<Reply> {
  program: string;
  args?: readonly string[];
  env?: NodeJS.ProcessEnv;
  /** Descriptors that it gets as 3 and following. */
  files?: readonly number[];
  take(reply: Reply): void;
  /** It has exited; it may have printed something that is still to be taken. */
  exited?(): void;
  /** It has exited, and everything is taken. Also when it could not be started. */
  ended(): void;
}

/** A small process of ours that is sent lines of JSON, and responds with such. */
export class JsonChild<Order, Reply> {
  readonly #child: ChildProcess;
  #rest = "";

  constructor({ program, args = [], env, files = [], ...heard }: JsonChildOptions<Reply>) {
    this.#child = spawn(process.execPath, [...NODE_OPTIONS, "-e", program, ...args], {
      // Out of reach of a Ctrl-C that is meant for us.
      detached: true,
      // What a library prints may have a key in it.
      stdio: ["pipe", "pipe", "ignore", ...files],
      env: { ...process.env, NODE_OPTIONS: "", ...env },
    });
    this.#child.on("error", () => heard.ended());
    this.#child.on("exit", () => heard.exited?.());
    this.#child.on("close", () => heard.ended());
    this.#child.stdin?.on("error", () => {});
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      const lines = (this.#rest + text).split("\n");
      this.#rest = lines.pop() ?? "";
      for (const line of lines) heard.take(JSON.parse(line));
    });
    this.#child.stdout?.on("error", () => {});
    this.keepUsAlive(false);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  send(order: Order): void {
    this.#child.stdin?.write(`${JSON.stringify(order)}\n`);
  }

  /** It is sent nothing more. */
  close(): void {
    this.#child.stdin?.end();
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }

  /** An idle one must not keep us alive; one that somebody waits for must. */
  keepUsAlive(wanted: boolean): void {
    for (const handle of [this.#child, this.#child.stdin, this.#child.stdout]) {
      if (handle !== this.#child && !(handle instanceof Socket)) continue;
      if (wanted) handle.ref();
      else handle.unref();
    }
  }
}
