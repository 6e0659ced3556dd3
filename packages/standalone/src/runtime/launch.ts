import { type ChildProcess, spawn } from "node:child_process";
import { open, unlink } from "node:fs/promises";
import type { ContainerFiles } from "./container-files.ts";

/**
 * Puts itself into the control group, writes down who it is, and becomes bubblewrap. So there is no moment in which
 * a process of the container runs that cannot be found again: not even when Mooring is killed right after the fork.
 *
 * On a busy machine that may come late: the next Mooring has then given up this start, and may have begun it anew with
 * the same names. The status file that we were given tells: it is not the one in the folder any more.
 */
const SCRIPT = `
set -e
echo 0 >"$MOORING_CGROUP/cgroup.procs"
[ "/proc/$$/fd/3" -ef "$MOORING_STATUS_FILE" ]
read -r pid a b c d e f g h i j k l m n o p q r s t start rest <"/proc/self/stat"
echo "$pid $start" >"$MOORING_PID_FILE.new"
mv "$MOORING_PID_FILE.new" "$MOORING_PID_FILE"
exec /usr/bin/bwrap --args 4 --json-status-fd 3 -- "$@"
`;

export interface Launch {
  files: ContainerFiles;
  /** Group folder to join. */
  cgroup: string;
  /** Options of bubblewrap; see bubblewrapOptions. */
  options: readonly string[];
  command: readonly string[];
  logFile: string;
}

/**
 * Starts a container in a session of its own. Its output goes straight into the log file and its end into the status
 * file: nothing of it depends on this process being alive.
 */
export async function launch({ files, cgroup, options, command, logFile }: Launch): Promise<ChildProcess> {
  const args = await open(files.args, "w+", 0o600);
  const status = await open(files.status, "a", 0o600);
  const log = await open(logFile, "a", 0o640);
  try {
    await args.write(Buffer.from(options.map((option) => `${option}\0`).join("")), 0, null, 0);
    // The descriptor is all that bubblewrap needs; the environment shall not stay on disk.
    await unlink(files.args);
    const child = spawn("/bin/sh", ["-c", SCRIPT, "mooring-container", ...command], {
      cwd: "/",
      detached: true,
      env: {
        PATH: "/usr/sbin:/usr/bin:/sbin:/bin",
        MOORING_CGROUP: cgroup,
        MOORING_PID_FILE: files.pid,
        MOORING_STATUS_FILE: files.status,
      },
      stdio: ["ignore", log.fd, log.fd, status.fd, args.fd],
    });
    await new Promise<void>((resolve, reject) => child.once("spawn", resolve).once("error", reject));
    child.unref();
    return child;
  } finally {
    await Promise.all([args.close(), status.close(), log.close()]);
  }
}
