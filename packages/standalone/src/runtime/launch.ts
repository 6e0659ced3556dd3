import { open } from "node:fs/promises";
import type { ContainerFiles } from "./container-files.ts";
import type { Launcher, WaitingMonitor } from "./launcher.ts";
import type { MonitorOrder } from "./monitor.ts";
import { RUNC } from "./runc.ts";

interface Launch extends Pick<MonitorOrder, "cgroup"> {
  id: string;
  files: ContainerFiles;
  /** `--root` of runc. */
  root: string;
  logFile: string;
  /** Whose its log is, so that it can open its output again; absent: runc sees to that. */
  logOwner?: number;
}

/**
 * Makes what starts the container of a bundle, in a session of its own, and waits for the order to. Its output goes straight
 * into the log file and its end into the status file: nothing of it depends on this process being alive.
 */
export async function prepareLaunch(
  launcher: Launcher,
  { id, files, cgroup, root, logFile, logOwner }: Launch,
): Promise<WaitingMonitor> {
  const status = await open(files.status, "a", 0o600);
  const log = await open(logFile, "a", 0o640);
  const options = ["--root", root, "--log", files.runcLog, "--log-format", "json"];
  const start = ["run", "--detach", "--bundle", files.bundle, "--pid-file", files.runcPid, id];
  try {
    if (logOwner !== undefined) await log.chown(logOwner, 0);
    return await launcher.make({
      ...{ status: status.fd, log: log.fd, cgroup },
      ...{ statusFile: files.status, pidFile: files.pid, runcPidFile: files.runcPid },
      runc: [RUNC, ...options, ...start],
    });
  } finally {
    await Promise.all([status.close(), log.close()]);
  }
}
