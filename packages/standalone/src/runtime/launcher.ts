import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { Socket } from "node:net";
import { gateText, LAUNCHER_PROGRAM, type MonitorOrder, orderText } from "./monitor.ts";
import { identify, type ProcessIdentity } from "./process-identity.ts";

/** The monitor of a container that this process has started. */
export interface StartedMonitor {
  /** Undefined: it had ended before that was read. */
  readonly identity: ProcessIdentity | undefined;
  /** `unknown`: its end is not reported any more, as the process that has started it is gone. */
  readonly state: "running" | "ended" | "unknown";
  /** Calls back once that has changed. */
  onEnd(listener: () => void): void;
}

/** A monitor that has everything open and is in its control group. */
export interface WaitingMonitor {
  /** Has it start its container. Rejects when that is not known: what starts monitors has ended. */
  begin(): Promise<StartedMonitor>;
  /** False: it has ended, or what starts it has. */
  canBegin(): boolean;
  /** Has it end; not after `begin`. */
  drop(): void;
}

/** Numbers of the system calls prctl and setsid. */
const SYSTEM_CALLS: Readonly<Record<string, readonly [prctl: string, setsid: string]>> = {
  x64: ["157", "112"],
  arm64: ["167", "157"],
  riscv64: ["167", "157"],
  s390x: ["172", "66"],
  ppc64: ["171", "66"],
};

interface Waiting {
  heard(what: string, rest: readonly string[]): void;
  failed(error: Error): void;
}

/**
 * The process that starts the monitors of containers: see {@link LAUNCHER_PROGRAM}. Started when it is first needed, and
 * anew when it was killed.
 */
export class Launcher {
  #child: ChildProcess | undefined;
  #text = "";
  #next = 1;
  readonly #waiting = new Map<number, Waiting>();
  readonly #monitors = new Map<number, Monitor>();

  /** Begins what the first start would wait for. */
  prepare(): void {
    this.#process();
  }

  /** Resolves when the monitor has its files open: the descriptors may be closed then. */
  async make(order: MonitorOrder): Promise<WaitingMonitor> {
    const child = this.#process();
    const number = this.#next++;
    const monitor = new Monitor();
    this.#monitors.set(number, monitor);
    const opened = this.#reply(number);
    child.stdin?.write(orderText(number, order));
    const { what, rest } = await opened;
    if (what !== "opened")
      throw new Error(
        `cannot start the monitor of a container: ${what === "failed" ? rest.join(" ") : "its files could not be opened"}`,
      );
    monitor.identity = await identify(Number(rest[0]));
    return {
      canBegin: () => this.#child === child && monitor.state === "running",
      begin: async () => {
        if (this.#child !== child) throw hasEnded();
        if (monitor.state !== "running") return monitor;
        const begun = this.#reply(number);
        child.stdin?.write(gateText("begin", number));
        await begun;
        return monitor;
      },
      drop: () => {
        if (this.#child === child) child.stdin?.write(gateText("drop", number));
      },
    };
  }

  /** What is reported next of an order. */
  async #reply(number: number): Promise<{ what: string; rest: readonly string[] }> {
    const reply = new Promise<{ what: string; rest: readonly string[] }>((resolve, reject) =>
      this.#waiting.set(number, { heard: (what, rest) => resolve({ what, rest }), failed: reject }),
    );
    this.#keepAlive();
    try {
      return await reply;
    } finally {
      this.#waiting.delete(number);
      this.#keepAlive();
    }
  }

  /** Ends it; monitors live on. */
  async close(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    const closed = once(child, "close");
    this.#keepAlive(true);
    child.stdin?.end();
    await closed;
  }

  #process(): ChildProcess {
    if (this.#child !== undefined) return this.#child;
    const numbers = SYSTEM_CALLS[process.arch] ?? ["", ""];
    const child = spawn("/usr/bin/perl", ["-e", LAUNCHER_PROGRAM, "--", ...numbers, String(process.pid)], {
      cwd: "/",
      // Out of reach of a Ctrl-C that is meant for us.
      detached: true,
      env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" },
      stdio: ["pipe", "pipe", "ignore"],
    });
    this.#child = child;
    this.#text = "";
    child.on("error", (error) => this.#gone(child, error));
    // Later than `exit`: what it still reported is taken first.
    child.on("close", () => this.#gone(child, hasEnded()));
    child.stdin?.on("error", () => {});
    child.stdout?.setEncoding("utf8").on("data", (text: string) => this.#hear(text));
    this.#keepAlive();
    return child;
  }

  #hear(text: string): void {
    const lines = (this.#text + text).split("\n");
    this.#text = lines.pop() ?? "";
    for (const line of lines) this.#take(line);
  }

  #take(line: string): void {
    const [what = "", order, ...rest] = line.split(" ");
    const number = Number(order);
    if (what === "ended" || what === "failed") {
      this.#monitors.get(number)?.end("ended");
      this.#monitors.delete(number);
    }
    this.#waiting.get(number)?.heard(what, rest);
  }

  /** What it has started goes on, and is seen by its files. */
  #gone(child: ChildProcess, error: Error): void {
    if (this.#child !== child) return;
    this.#child = undefined;
    for (const { failed } of this.#waiting.values()) failed(error);
    for (const monitor of this.#monitors.values()) monitor.end("unknown");
    this.#monitors.clear();
  }

  /** Idle it must not keep us alive; a start that is under way must, and its own end. */
  #keepAlive(wanted = this.#waiting.size > 0): void {
    const child = this.#child;
    for (const handle of [child, child?.stdin, child?.stdout]) {
      if (handle === undefined || (handle !== child && !(handle instanceof Socket))) continue;
      if (wanted) handle.ref();
      else handle.unref();
    }
  }
}

function hasEnded(): Error {
  return new Error("the process that starts containers has ended");
}

class Monitor implements StartedMonitor {
  identity: ProcessIdentity | undefined;
  state: StartedMonitor["state"] = "running";
  readonly #listeners: (() => void)[] = [];

  onEnd(listener: () => void): void {
    this.#listeners.push(listener);
  }

  end(state: "ended" | "unknown"): void {
    this.state = state;
    for (const listener of this.#listeners) listener();
  }
}
