import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import type { ContainerRecord } from "./container-files.ts";
import type { ExecResult } from "./runtime.ts";

const KEEP_BYTES = 16 * 1024;

/** Joins the group, so that what a probe leaves behind is found like everything else of the container. */
const SCRIPT = `echo 0 >"$MOORING_CGROUP/cgroup.procs" && unset MOORING_CGROUP && exec "$@"`;

/** Variables that the tools before the container's own program would act upon, outside of the container. */
const UNSAFE = /^(?:LD_|GCONV_PATH|MALLOC_|LOCPATH|NLSPATH|TZDIR|MOORING_)/;

export interface ExecTarget {
  record: ContainerRecord;
  /** Host process id of the container's init. */
  init: number;
  cgroup: string;
  env: Readonly<Record<string, string>>;
}

/** Runs a program in the namespaces of a running container, as the container's user. */
export async function execInContainer(
  target: ExecTarget,
  argv: readonly string[],
  options: { timeoutMs: number; signal?: AbortSignal },
): Promise<ExecResult> {
  const { uid, gid, groups } = target.record.user;
  const membership = groups.length === 0 ? ["--clear-groups"] : ["--groups", groups.join(",")];
  const inside = target.record.workingDir ?? "/";
  const child = spawn(
    "/bin/sh",
    [
      ...["-c", SCRIPT, "mooring-exec"],
      ...[
        "/usr/bin/nsenter",
        "--target",
        `${target.init}`,
        "--mount",
        "--pid",
        "--ipc",
        "--uts",
        "--root",
        `--wdns=${inside}`,
      ],
      ...[
        "/usr/bin/setpriv",
        "--reuid",
        `${uid}`,
        "--regid",
        `${gid}`,
        ...membership,
        "--no-new-privs",
        "--",
        ...argv,
      ],
    ],
    {
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...safeEnvironment(target.env), MOORING_CGROUP: target.cgroup },
    },
  );
  let output = Buffer.alloc(0);
  const collect = (chunk: Buffer) => {
    output = Buffer.concat([output, chunk]).subarray(-KEEP_BYTES);
  };
  child.stdout.on("data", collect);
  child.stderr.on("data", collect);
  let timedOut = false;
  const end = () => {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  };
  const timer = setTimeout(() => {
    timedOut = true;
    end();
  }, options.timeoutMs);
  options.signal?.addEventListener("abort", end, { once: true });
  try {
    const exitCode = await new Promise<number>((resolve, reject) => {
      child.once("error", reject);
      // Not "close": a grandchild may keep the pipe open for ever.
      child.once("exit", (code) => setImmediate(resolve, code ?? 137));
    });
    return { exitCode, output: output.toString("utf8"), timedOut };
  } finally {
    clearTimeout(timer);
    options.signal?.removeEventListener("abort", end);
    child.stdout.destroy();
    child.stderr.destroy();
  }
}

/** The environment that a process was started with. */
export async function environmentOf(pid: number): Promise<Record<string, string>> {
  const text = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
  const pairs = text.split("\0").filter((pair) => pair.includes("="));
  return Object.fromEntries(
    pairs.map((pair) => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)]),
  );
}

function safeEnvironment(env: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !UNSAFE.test(name)));
}
