import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { type ExecTarget, endAll, JOIN_GROUP } from "./exec.ts";
import { RUNC } from "./runc.ts";
import type { ExecSession, SessionOptions } from "./session.ts";
import { TERMINAL_PROGRAM } from "./terminal.ts";
import { readProcess } from "./write-bundle.ts";

/** The program is not there, cannot be run, or the container has ended. */
export class ExecStartError extends Error {}

interface Files {
  process: string;
  pid: string;
  log: string;
}

/** Of the program: as `stdio` of its process has them. */
type Pipes = [stdin: Writable | null, stdout: Readable, stderr: Readable, sizes?: Writable];

/** Starts a program as the container's own one was started: same user, capabilities, filters, folder and variables. */
export async function openSession(
  target: ExecTarget,
  argv: readonly string[],
  options: SessionOptions,
): Promise<ExecSession> {
  const name = join(target.bundle, `exec-${randomUUID()}`);
  const files: Files = { process: `${name}.json`, pid: `${name}.pid`, log: `${name}.log` };
  const own = await readProcess(target.bundle);
  const env =
    options.tty && !own.env.some((each) => each.startsWith("TERM=")) ? [...own.env, "TERM=xterm"] : own.env;
  const asked = { ...own, env, args: argv, terminal: options.tty };
  await writeFile(files.process, JSON.stringify(asked), { mode: 0o600 });
  const child = start(target, files, options);
  const exit = ended(child, files).finally(async () => {
    for (const file of Object.values(files)) await rm(file, { force: true });
  });
  // A caller that waits for it gets the error; there may be none, and that must not end the process.
  exit.catch(() => {});
  const [stdin, stdout, stderr, sizes] = child.stdio as unknown as Pipes;
  // What is written to a program that has ended is of no use any more.
  for (const stream of [stdin, sizes]) stream?.on("error", () => {});
  if (options.tty) stderr.resume();
  return {
    ...(options.stdin && stdin !== null ? { stdin } : {}),
    stdout,
    ...(options.tty ? {} : { stderr }),
    resize: sizer(sizes),
    exit,
    // One that has ended has given its pid back.
    kill: async () => {
      if (child.exitCode === null && child.signalCode === null) await endAll(child, files.pid);
    },
  };
}

function start({ id, cgroup, root }: ExecTarget, files: Files, { stdin, tty }: SessionOptions): ChildProcess {
  const logged = ["--root", root, "--log", files.log, "--log-format", "json"];
  const runc = [RUNC, ...logged, "exec", "--process", files.process, "--pid-file", files.pid, id];
  const command = tty ? ["/usr/bin/perl", "-e", TERMINAL_PROGRAM, "--", ...runc] : runc;
  return spawn("/bin/sh", ["-c", JOIN_GROUP, "mooring-exec", ...command], {
    detached: true,
    cwd: "/",
    stdio: [stdin ? "pipe" : "ignore", "pipe", "pipe", ...(tty ? (["pipe"] as const) : [])],
    env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", MOORING_CGROUP: cgroup },
  });
}

/** A client may send sizes faster than they are taken: only the last is kept. */
function sizer(sizes: Writable | undefined): ExecSession["resize"] {
  let next: string | undefined;
  let isTaking = false;
  const send = () => {
    if (isTaking || next === undefined || sizes === undefined) return;
    isTaking = true;
    sizes.write(next, () => {
      isTaking = false;
      send();
    });
    next = undefined;
  };
  return ({ columns, rows }) => {
    next = `${columns} ${rows}\n`;
    send();
  };
}

async function ended(child: ChildProcess, files: Files): Promise<number> {
  const code = await new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    // Not "close": what it leaves in the background may keep the pipes open for ever.
    child.once("exit", (status, signal) => resolve(status ?? (signal === "SIGKILL" ? 137 : 143)));
  });
  // runc writes it down once the program runs.
  const began = await readFile(files.pid, "utf8").then(Boolean, () => false);
  if (began || code === 137) return code;
  throw new ExecStartError(await whyNot(files.log));
}

/** runc's last message. */
async function whyNot(log: string): Promise<string> {
  const lines = (await readFile(log, "utf8").catch(() => "")).trim().split("\n");
  try {
    const { msg } = JSON.parse(lines.at(-1) ?? "") as { msg?: unknown };
    return String(msg);
  } catch {
    return "runc could not start it";
  }
}
