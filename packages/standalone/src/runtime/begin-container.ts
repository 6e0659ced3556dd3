import { chmod, mkdir, rm, stat, writeFile } from "node:fs/promises";
import { failpoint, type Logger } from "@mooring/store";
import { type BaseRoot, FRESH } from "./base-root.ts";
import type { Cgroups } from "./cgroups.ts";
import { type Container, type ContainerContext, superviseContainer } from "./container.ts";
import { type ContainerFiles, type ContainerRecord, readMonitor, writeRecord } from "./container-files.ts";
import { launch } from "./launch.ts";
import { logFolderOf } from "./log-paths.ts";
import { hidingMounts } from "./private-paths.ts";
import type { RunFolder } from "./run-folder.ts";
import type { ContainerConfig } from "./runtime.ts";
import { writeBundle } from "./write-bundle.ts";

const afterRecord = failpoint("standalone/runtime/recorded");
const afterLaunch = failpoint("standalone/runtime/launched");

/** What all containers of a runtime share. */
export interface RuntimeContext {
  cgroups: Cgroups;
  logger: Logger;
  /** Root folder of the logs. */
  logs: string;
  bootID: string;
  run: RunFolder;
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
  const logs = logFolderOf(context.logs, record);
  await Promise.all([
    mkdir(logs, { recursive: true, mode: 0o750 }),
    writeRecord(own.files, record),
    root.refresh(),
  ]);
  const { cgroups, run } = context;
  const { uid } = config.pod;
  await writeBundle(own.files, await resolveTargets(root, await withMessageFile(config, own.files)), {
    root: root.path,
    layers: root.layers,
    extra: root.extra,
    hidden: await hidingMounts(await hiddenIn(root, await run.hidden())),
    cgroup: cgroups.path(uid, config.id),
    unified: cgroups.unified,
  });
  afterRecord();
  const child = await launch({
    id: config.id,
    files: own.files,
    cgroup: await cgroups.create(uid, config.id),
    root: run.runc,
    logFile: own.logFile,
  });
  afterLaunch();
  try {
    return await superviseContainer(record, own, child);
  } catch (error) {
    // Nobody would know of it any more.
    await discard(own, record);
    throw error;
  }
}

/** Takes over a container of an earlier process; undefined when it was never really started. */
export async function adoptContainer(
  context: RuntimeContext,
  { record, files }: { record: ContainerRecord; files: ContainerFiles },
): Promise<Container | undefined> {
  const own = context.of(record);
  if (record.exit === undefined && record.bootID !== context.bootID) {
    const lost = await forgetProcesses(record, files, context.bootID);
    return superviseContainer(lost, context.of(lost));
  }
  if (record.exit === undefined && (await readMonitor(files)) === undefined) {
    // Killed between the record and the launch: as if this start had never been asked for.
    await discard(own, record);
    return undefined;
  }
  return superviseContainer(record, own);
}

async function discard(
  { cgroups, files, cleanUp }: ContainerContext,
  record: ContainerRecord,
): Promise<void> {
  // First: a launcher that has not come to it yet ends without this file, and those that have are killed.
  await rm(files.status, { force: true });
  await cgroups.kill(record.pod.uid, record.id);
  await cleanUp();
  await cgroups.remove(record.pod.uid, record.id);
  await rm(files.folder, { recursive: true, force: true });
}

/** Where they would be seen: what is below a fresh folder of the container's own is not there anyway. */
async function hiddenIn(root: BaseRoot, folders: readonly string[]): Promise<string[]> {
  const places = await Promise.all(folders.map((folder) => root.mountPoint(folder, "directory")));
  return places.filter((place) => !FRESH.some((fresh) => `${place}/`.startsWith(`${fresh}/`)));
}

function recordOf(config: ContainerConfig, bootID: string): ContainerRecord {
  const { id, pod, name, attempt, terminationMessage } = config;
  return {
    ...{ id, pod, name, attempt, bootID },
    createdAt: new Date().toISOString(),
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
  return { ...rest, bootID, shutdown: true };
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
  const devices = await Promise.all(
    config.devices.map(async (device) => ({
      ...device,
      target: await root.mountPoint(device.target, "file"),
    })),
  );
  return { ...config, mounts, devices };
}
