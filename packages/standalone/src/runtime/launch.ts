import { type ChildProcess, spawn } from "node:child_process";
import { open } from "node:fs/promises";
import type { ContainerFiles } from "./container-files.ts";
import { MONITOR_PROGRAM } from "./monitor.ts";
import { RUNC } from "./runc.ts";

/**
 * Puts itself into a control group, writes down who it is, and becomes the container's monitor. So there is no moment in
 * which a process of the container runs that cannot be found again: not even when Mooring is killed right after the fork.
 *
 * On a busy machine that may come late: the next Mooring has then given up this start, and may have begun it anew with
 * the same names. The status file that we were given shows it: it is not the one in the folder any more.
 */
const SCRIPT = `
set -e
echo 0 >"$MOORING_CGROUP/cgroup.procs"
[ "/proc/$$/fd/3" -ef "$MOORING_STATUS_FILE" ]
read -r pid a b c d e f g h i j k l m n o p q r s t start rest <"/proc/self/stat"
echo "$pid $start" >"$MOORING_PID_FILE.new"
mv "$MOORING_PID_FILE.new" "$MOORING_PID_FILE"
exec /usr/bin/perl -e "$MOORING_MONITOR" -- "$@"
`;

interface Launch {
  id: string;
  files: ContainerFiles;
  /** Group folders: of the monitor, and, where runc does not see to that, of the container. */
  cgroup: { monitor: string; container?: string };
  /** `--root` of runc. */
  root: string;
  logFile: string;
  /** Whose its log is, so that it can open its output again; absent: runc sees to that. */
  logOwner?: number;
}

/**
 * Starts the container of a bundle, in a session of its own. Its output goes straight into the log file and its end into the
 * status file: nothing of it depends on this process being alive.
 */
export async function launch({ id, files, cgroup, root, logFile, logOwner }: Launch): Promise<ChildProcess> {
  const status = await open(files.status, "a", 0o600);
  const log = await open(logFile, "a", 0o640);
  if (logOwner !== undefined) await log.chown(logOwner, 0);
  const options = ["--root", root, "--log", files.runcLog, "--log-format", "json"];
  const start = ["run", "--detach", "--bundle", files.bundle, "--pid-file", files.runcPid, id];
  try {
    const child = spawn("/bin/sh", ["-c", SCRIPT, "mooring-container", RUNC, ...options, ...start], {
      cwd: "/",
      detached: true,
      env: {
        PATH: "/usr/sbin:/usr/bin:/sbin:/bin",
        MOORING_CGROUP: cgroup.monitor,
        MOORING_CONTAINER_CGROUP: cgroup.container ?? "",
        MOORING_MONITOR: MONITOR_PROGRAM,
        MOORING_PID_FILE: files.pid,
        MOORING_STATUS_FILE: files.status,
        MOORING_RUNC_PID_FILE: files.runcPid,
        MOORING_PRCTL: PRCTL[process.arch] ?? "",
      },
      stdio: ["ignore", log.fd, log.fd, status.fd],
    });
    await new Promise<void>((resolve, reject) => child.once("spawn", resolve).once("error", reject));
    child.unref();
    return child;
  } finally {
    await Promise.all([status.close(), log.close()]);
  }
}

/** Number of the system call. */
const PRCTL: Readonly<Record<string, string>> = {
  x64: "157",
  arm64: "167",
  riscv64: "167",
  s390x: "172",
  ppc64: "171",
};
