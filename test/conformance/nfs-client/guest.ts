import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { eventually } from "@mooring/store/testing";

const INIT = fileURLToPath(new URL("init.sh", import.meta.url));

/**
 * The guest's libc keeps to registers of 128 bits, the ones that its kernel saves when it finds no others: see
 * `withoutXstate`.
 */
const TUNABLES =
  "GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX,-AVX2,-AVX512F,-AVX512VL,-AVX512BW,-ERMS,-AVX_Fast_Unaligned_Load";

/** Of <linux/ptrace.h>, <linux/elf.h> and <linux/seccomp.h>, for x86_64. */
const PTRACE = { call: 101, getRegset: 0x4204, setRegset: 0x4205, xstate: 0x202 };
const RETURN = { nodev: 0x00050013, allow: 0x7fff0000 };

/**
 * A filter for seccomp(2) that denies ptrace(2) the extended processor state. The kernel of the guest reserves less
 * room for it than processors with AMX need, and dies of that; where there is none to be had it does without.
 */
function withoutXstate(): Buffer {
  const [load, equal, end] = [0x20, 0x15, 0x06];
  const program = [
    [load, 0, 0, 0],
    [equal, 0, 6, PTRACE.call],
    [load, 0, 0, 16],
    [equal, 1, 0, PTRACE.getRegset],
    [equal, 0, 3, PTRACE.setRegset],
    [load, 0, 0, 32],
    [equal, 0, 1, PTRACE.xstate],
    [end, 0, 0, RETURN.nodev],
    [end, 0, 0, RETURN.allow],
  ] as const;
  const bytes = Buffer.alloc(8 * program.length);
  program.forEach(([code, yes, no, value], index) => {
    bytes.writeUInt16LE(code, 8 * index);
    bytes.writeUInt8(yes, 8 * index + 2);
    bytes.writeUInt8(no, 8 * index + 3);
    bytes.writeUInt32LE(value, 8 * index + 4);
  });
  return bytes;
}

export interface GuestOptions {
  /** For its own files; must be on the host already. */
  folder: string;
  tap: { name: string; address: string };
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

  static async boot({ folder, tap }: GuestOptions): Promise<Guest> {
    const own = join(folder, "guest");
    await mkdir(own);
    const filter = join(own, "filter");
    await writeFile(filter, withoutXstate());
    const denied = openSync(filter, "r");
    const sandbox = ["--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev", "--bind", own, own];
    // With the sandbox goes every process of the guest.
    const life = ["--unshare-pid", "--proc", "/proc", "--die-with-parent", "--seccomp", "3"];
    const root = ["root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", `init=${INIT}`];
    const wires = [`vec0:transport=tap,ifname=${tap.name},depth=64`, "con=null", "con0=fd:0,fd:1"];
    const kernel = ["linux.uml", "mem=256M", "quiet", `uml_dir=${own}`, ...root, ...wires];
    const child = spawn("bwrap", [...sandbox, ...life, ...kernel, `GUEST_ADDRESS=${tap.address}`, TUNABLES], {
      stdio: ["pipe", "pipe", "pipe", denied],
      env: { ...process.env, TMPDIR: "/dev/shm" },
    });
    const guest = new Guest(child);
    closeSync(denied);
    try {
      await guest.#end(guest.#boot, "boot");
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
    if (code !== undefined && command !== undefined) command.code = Number(code);
    else command?.lines.push(text);
  }

  get #running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async #end(command: Command, what: string): Promise<string> {
    const code = await eventually(`the guest: ${what}`, async () => {
      if (!this.#running) throw new Error("the guest has ended");
      return command.code === undefined ? undefined : [command.code];
    });
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
  run(line: string): Promise<string> {
    return this.#end(this.start(line), line);
  }

  async stop(): Promise<void> {
    if (this.#running) this.#child.kill("SIGKILL");
    await this.#ended;
  }
}
