import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { eventually } from "@mooring/store/testing";
import { NARROW, registerFilter } from "./registers.ts";

const INIT = fileURLToPath(new URL("init.sh", import.meta.url));

export interface GuestOptions {
  /** For its own files; must be on the host already. */
  folder: string;
  tap: { name: string; address: string };
  /** Distinguishes it from others in the folder; default `guest`. */
  name?: string;
  /** Default `256M`. */
  memory?: string;
  /** Modules of its kernel to load. */
  modules?: readonly string[];
  /** A file in its folder with a file system, which it has at `/run/disk`, and which outlives it. */
  disk?: string;
}

/** Where a guest of this name has its own files. */
export function guestFolder(folder: string, name: string): string {
  return join(folder, name);
}

/** A command that runs in the guest. */
export class Command {
  lines: string[] = [];
  code: number | undefined;
}

/** A Linux kernel as a program, with this machine's files read-only. */
export class Guest {
  readonly #child: ChildProcess;
  readonly #boot = new Command();
  readonly #commands: Command[] = [this.#boot];
  readonly #ended: Promise<unknown>;
  /** Everything its console has shown. */
  output = "";

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#ended = once(child, "close");
    let rest = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.output += text;
      });
    }
    child.stdout?.on("data", (text: string) => {
      const lines = (rest + text).split(/\r*\n/);
      rest = lines.pop() ?? "";
      for (const line of lines) this.#take(line);
    });
  }

  static async boot(options: GuestOptions): Promise<Guest> {
    const { folder, tap, name = "guest", memory = "256M", modules = [], disk } = options;
    const own = guestFolder(folder, name);
    await mkdir(own, { recursive: true });
    const filter = await registerFilter();
    await writeFile(join(own, "filter"), filter ?? "");
    const denied = openSync(join(own, "filter"), "r");
    const sandbox = ["--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev", "--bind", own, own];
    // With the sandbox goes every process of the guest.
    const life = ["--unshare-pid", "--proc", "/proc", "--die-with-parent"];
    if (filter !== undefined) life.push("--seccomp", "3");
    const root = ["root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", `init=${INIT}`];
    const wires = [`vec0:transport=tap,ifname=${tap.name},depth=64,gro=1`, "con=null", "con0=fd:0,fd:1"];
    if (disk !== undefined) wires.push(`ubd0=${disk}`);
    const kernel = ["linux.uml", `mem=${memory}`, "quiet", `uml_dir=${own}`, ...root, ...wires];
    const child = spawn(
      "bwrap",
      [...sandbox, ...life, ...kernel, `GUEST_ADDRESS=${tap.address}`, ...NARROW],
      {
        stdio: ["pipe", "pipe", "pipe", denied],
        env: { ...process.env, TMPDIR: "/dev/shm" },
      },
    );
    const guest = new Guest(child);
    closeSync(denied);
    try {
      await guest.#end(guest.#boot, "boot");
      for (const module of modules) await guest.run(`modprobe -d /run/modules ${module}`);
      return guest;
    } catch (error) {
      await guest.stop();
      throw new Error(`the guest did not boot:\n${guest.output.slice(-3000)}`, { cause: error });
    }
  }

  #take(line: string): void {
    const [, number, text = ""] = /^@(\d+) (.*)$/.exec(line) ?? [];
    const command = this.#commands[Number(number)];
    const [, code] = /^exit (\d+)$/.exec(text) ?? [];
    if (code === undefined || command === undefined) {
      command?.lines.push(text);
      return;
    }
    // It ends a line that the command has not ended.
    if (command.lines.at(-1) === "") command.lines.pop();
    command.code = Number(code);
  }

  get #running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async #end(command: Command, what: string, withinMs = 120_000): Promise<string> {
    const probe = async () => {
      if (!this.#running) throw new Error("the guest has ended");
      return command.code === undefined ? undefined : [command.code];
    };
    const lastSeen = () => command.lines.slice(-20);
    const code = await eventually(`the guest: ${what}`, probe, { withinMs, lastSeen });
    const text = command.lines.join("\n");
    if (code[0] !== 0) throw new Error(`the guest: ${what}: exit ${code[0]}: ${text}`);
    return text;
  }

  /** A line for its shell. */
  start(line: string): Command {
    const command = new Command();
    this.#commands.push(command);
    this.#child.stdin?.write(`${this.#commands.length - 1} ${line}\n`);
    return command;
  }

  /** Resolves with the output, throws when the exit code is not 0. */
  run(line: string, withinMs?: number): Promise<string> {
    return this.#end(this.start(line), line, withinMs);
  }

  /** Stands still in the middle of whatever it does, as a virtual machine does that is paused; the returned function lets it go on. */
  async pause(): Promise<() => void> {
    const kernels = await kernelsOf(this.#child.pid ?? 0);
    for (const pid of kernels) process.kill(pid, "SIGSTOP");
    return () => {
      for (const pid of kernels) process.kill(pid, "SIGCONT");
    };
  }

  /** Its power is cut. */
  async stop(): Promise<void> {
    if (this.#running) this.#child.kill("SIGKILL");
    await this.#ended;
  }
}

/** Processes of the guest's kernel. Those of its programs are traced by it, and go on when it lets them. */
async function kernelsOf(parent: number): Promise<number[]> {
  const children = await readFile(`/proc/${parent}/task/${parent}/children`, "utf8").catch(() => "");
  const found: number[] = [];
  for (const pid of children.split(" ").filter(Boolean).map(Number)) {
    const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
    if (/^Name:\tlinux/m.test(status) && /^TracerPid:\t0$/m.test(status)) found.push(pid);
    found.push(...(await kernelsOf(pid)));
  }
  return found;
}
