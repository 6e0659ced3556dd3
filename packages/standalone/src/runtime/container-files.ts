import { mkdir, readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { replaceFile } from "@mooring/store";
import type { ProcessIdentity } from "./process-identity.ts";
import type { ContainerExit } from "./runtime.ts";

/** One attempt to run a container. */
export interface ContainerName {
  id: string;
  pod: { uid: string; namespace: string; name: string };
  name: string;
  attempt: number;
}

/** What is written before a container is started. Contains no environment: that may be secret. */
export interface ContainerRecord extends ContainerName {
  createdAt: string;
  /** Process ids mean something only while the kernel is the same. */
  bootID: string;
  /** Take the end of the log for the termination message of a container that failed and left none. */
  messageFromLog?: boolean;
  imageRoot?: string;
  imageID?: string;
  /** Default SIGTERM. */
  stopSignal?: number;
  startedAt?: string;
  /** The container's process 1 as the machine sees it. */
  init?: ProcessIdentity;
  /** Its end was asked for because Mooring stops. */
  shutdown?: true;
  exit?: ContainerExit;
}

/** The files of one container: `record.json` is ours; `pid` and `status` are written by the processes themselves. */
export interface ContainerFiles {
  readonly folder: string;
  readonly pid: string;
  readonly status: string;
  /** runc's folder for it; in memory. */
  readonly bundle: string;
  /** Why runc could not start it. */
  readonly runcLog: string;
  readonly runcPid: string;
  /** What the container has to say about its end. */
  readonly message: string;
  /** What it writes into the root of its image. */
  readonly changes: string;
}

/** Where everything of one container lies: `folder` on disk, `bundle` (runc's, with secrets) in memory. */
export function containerFiles(folder: string, bundle: string): ContainerFiles {
  return {
    folder,
    pid: join(folder, "pid"),
    status: join(folder, "status"),
    bundle,
    runcLog: join(bundle, "runc.log"),
    runcPid: join(bundle, "pid"),
    message: join(folder, "message"),
    changes: join(folder, "root"),
  };
}

/** Replaces the record as a whole: a crash leaves the one before. A container without any is removed at the next start. */
export async function writeRecord(files: ContainerFiles, record: ContainerRecord): Promise<void> {
  await mkdir(files.folder, { recursive: true, mode: 0o700 });
  await replaceFile(join(files.folder, "record.json"), `${JSON.stringify(record, null, 2)}\n`, 0o644);
}

/** Where a runtime whose state is in this folder has its records: a folder for each container. */
export const recordsFolder = (stateDir: string): string => join(stateDir, "runtime", "containers");

/** All containers below `root`; a folder without a record is one whose start or removal was interrupted, and goes. */
export async function readRecords(
  root: string,
  filesOf: (id: string) => ContainerFiles,
): Promise<{ record: ContainerRecord; files: ContainerFiles }[]> {
  await mkdir(root, { recursive: true, mode: 0o700 });
  const found: { record: ContainerRecord; files: ContainerFiles }[] = [];
  for (const name of await readdir(root)) {
    const files = filesOf(name);
    const record = await readRecord(files);
    if (record === undefined) await rm(files.folder, { recursive: true, force: true });
    else found.push({ record, files });
  }
  return found;
}

/** Throws where there is one that cannot be read: its container may run. */
async function readRecord({ folder }: ContainerFiles): Promise<ContainerRecord | undefined> {
  const text = await textIfAny(join(folder, "record.json"));
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function textIfAny(path: string): Promise<string> {
  return readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return "";
    throw error;
  });
}

/** The process that watches over the container, as it wrote itself down before anything else. */
export async function readMonitor(files: ContainerFiles): Promise<ProcessIdentity | undefined> {
  const text = await textIfAny(files.pid);
  const [pid, startTicks] = text.trim().split(" ");
  return pid === undefined || startTicks === undefined ? undefined : { pid: Number(pid), startTicks };
}

interface MonitorStatus {
  /** The container's first process. */
  init?: number;
  exitCode?: number;
  /** It could not be started. */
  failed?: true;
  /** When it ended, or failed to start. */
  at?: Date;
}

/** What the monitor has written down so far. */
export async function readStatus(files: ContainerFiles): Promise<MonitorStatus> {
  const text = await readFile(files.status, "utf8").catch(() => "");
  const init = /"child-pid":\s*(\d+)/.exec(text)?.[1];
  const exitCode = /"exit-code":\s*(\d+)/.exec(text)?.[1];
  const failed = /"failed":/.test(text);
  return {
    ...(init === undefined ? {} : { init: Number(init) }),
    ...(failed ? { failed, at: (await stat(files.status)).mtime } : {}),
    ...(exitCode === undefined ? {} : { exitCode: Number(exitCode), at: (await stat(files.status)).mtime }),
  };
}
