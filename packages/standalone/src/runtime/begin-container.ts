import { chmod, mkdir, rm, stat, writeFile } from "node:fs/promises";
import { failpoint, type Logger } from "@mooring/store";
import type { BaseRoot } from "./base-root.ts";
import { bubblewrapOptions, containerCommand } from "./bubblewrap.ts";
import type { Cgroups } from "./cgroups.ts";
import { type Container, type ContainerContext, superviseContainer } from "./container.ts";
import { type ContainerFiles, type ContainerRecord, readMonitor, writeRecord } from "./container-files.ts";
import { launch } from "./launch.ts";
import { logFolderOf } from "./log-paths.ts";
import type { ContainerConfig } from "./runtime.ts";

const afterRecord = failpoint("standalone/runtime/recorded");
const afterLaunch = failpoint("standalone/runtime/launched");

/** What all containers of a runtime share. */
export interface RuntimeContext {
  cgroups: Cgroups;
  logger: Logger;
  /** Root folder of the logs. */
  logs: string;
  bootID: string;
  hidden: readonly string[];
  /** Where one container's things are, and whom to tell. */
  of(record: ContainerRecord): ContainerContext;
}

/** Starts a container that was not started before. */
export async function beginContainer(
  context: RuntimeContext,
  root: BaseRoot,
  config: ContainerConfig,
): Promise<Container> {
  const record = recordOf(config, context.bootID);
  const own = context.of(record);
  await mkdir(logFolderOf(context.logs, record), { recursive: true, mode: 0o750 });
  await writeRecord(own.files, record);
  await root.refresh();
  const mounted = await resolveTargets(root, await withMessageFile(config, own.files));
  const hidden = await Promise.all(context.hidden.map((folder) => root.mountPoint(folder, "directory")));
  afterRecord();
  const child = await launch({
    files: own.files,
    cgroup: await context.cgroups.create(config.pod.uid, config.id),
    options: bubblewrapOptions(mounted, { root: root.path, hidden, extra: root.extra }),
    command: containerCommand(config),
    logFile: own.logFile,
  });
  afterLaunch();
  try {
    return await superviseContainer(record, own, child);
  } catch (error) {
    // Nobody would know of it any more.
    await discard(context, record, own.files);
    throw error;
  }
}

/** Takes over a container of an earlier process; undefined when it was never really started. */
export async function adoptContainer(
  context: RuntimeContext,
  { record, files }: { record: ContainerRecord; files: ContainerFiles },
): Promise<Container | undefined> {
  if (record.exit === undefined && record.bootID !== context.bootID) {
    const lost = await forgetProcesses(record, files, context.bootID);
    return superviseContainer(lost, context.of(lost));
  }
  if (record.exit === undefined && (await readMonitor(files)) === undefined) {
    // Killed between the record and the launch: as if this start had never been asked for.
    await discard(context, record, files);
    return undefined;
  }
  return superviseContainer(record, context.of(record));
}

async function discard(
  { cgroups }: RuntimeContext,
  record: ContainerRecord,
  files: ContainerFiles,
): Promise<void> {
  // First: a launcher that has not come to it yet ends without this file, and those that have are killed.
  await rm(files.status, { force: true });
  await cgroups.kill(record.pod.uid, record.id);
  await cgroups.remove(record.pod.uid, record.id);
  await rm(files.folder, { recursive: true, force: true });
}

function recordOf(config: ContainerConfig, bootID: string): ContainerRecord {
  const { id, pod, name, attempt, user, workingDir, terminationMessage } = config;
  return {
    ...{ id, pod, name, attempt, user, bootID },
    createdAt: new Date().toISOString(),
    ...(workingDir === undefined ? {} : { workingDir }),
    ...(terminationMessage?.fromLog === true ? { messageFromLog: true } : {}),
  };
}

/** Process numbers of an earlier boot belong to others now. */
async function forgetProcesses(
  record: ContainerRecord,
  files: ContainerFiles,
  bootID: string,
): Promise<ContainerRecord> {
  await rm(files.pid, { force: true });
  const { init: _, ...rest } = record;
  return { ...rest, bootID };
}

/** A file of its own for the container's last words; everyone in it may write to it. */
async function withMessageFile(config: ContainerConfig, files: ContainerFiles): Promise<ContainerConfig> {
  if (config.terminationMessage === undefined) return config;
  await writeFile(files.message, "");
  await chmod(files.message, 0o666);
  const mount = { source: files.message, target: config.terminationMessage.path, readOnly: false };
  return { ...config, mounts: [...config.mounts, mount] };
}

async function resolveTargets(root: BaseRoot, config: ContainerConfig): Promise<ContainerConfig> {
  const mounts = await Promise.all(
    config.mounts.map(async (mount) => {
      const kind = (await stat(mount.source)).isDirectory() ? "directory" : "file";
      return { ...mount, target: await root.mountPoint(mount.target, kind) };
    }),
  );
  return { ...config, mounts };
}
