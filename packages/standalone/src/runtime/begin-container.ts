import { chmod, mkdir, realpath, rm, writeFile } from "node:fs/promises";
import { join, normalize } from "node:path";
import type { Host } from "@mooring/engine";
import { defined, failpoint, type Logger } from "@mooring/store";
import type { BaseRoot } from "./base-root.ts";
import type { Cgroups } from "./cgroups.ts";
import { type Container, superviseContainer } from "./container.ts";
import {
  type ContainerFiles,
  type ContainerName,
  type ContainerRecord,
  readMonitor,
  writeRecord,
} from "./container-files.ts";
import { mountContainerRoot } from "./container-root.ts";
import type { HostRoot } from "./host-root.ts";
import { makeInRoot } from "./in-root.ts";
import { prepareLaunch } from "./launch.ts";
import type { Launcher, WaitingMonitor } from "./launcher.ts";
import { logFolderOf } from "./log-paths.ts";
import type { MonitorsAhead } from "./monitors-ahead.ts";
import { resolveTargets } from "./mount-points.ts";
import type { OciMount } from "./oci/mounts.ts";
import type { RunFolder } from "./run-folder.ts";
import type { ContainerConfig, ContainerMount } from "./runtime.ts";
import type { ContainerContext } from "./supervision.ts";
import { bindRoot, makeMappedFolder, mapMounts, reachable } from "./user-namespace.ts";
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
  host: Host;
  launcher: Launcher;
  ahead: MonitorsAhead;
  /** Where one container's things are, and who is notified. */
  of(container: ContainerName): ContainerContext;
}

/** Starts a container that was not started before. */
export async function beginContainer(
  context: RuntimeContext,
  hostRoot: () => Promise<HostRoot>,
  config: ContainerConfig,
): Promise<Container> {
  const record = recordOf(config, context.bootID);
  const own = context.of(record);
  try {
    return await launchContainer(context, record, config, hostRoot);
  } catch (error) {
    // No record would have it any more.
    await discard(own, record);
    throw error;
  }
}

async function launchContainer(
  context: RuntimeContext,
  record: ContainerRecord,
  config: ContainerConfig,
  hostRoot: () => Promise<HostRoot>,
): Promise<Container> {
  const own = context.of(record);
  await mkdir(own.files.folder, { recursive: true, mode: 0o700 });
  // Nothing of this is without the record after a kill: a bundle without one is removed, and a monitor that waits ends with
  // us.
  const work = [
    takeMonitor(context, config),
    writeRecord(own.files, record),
    prepareBundle(context, own.files, config, hostRoot),
  ] as const;
  const [made] = await Promise.allSettled(work);
  try {
    const [waiting] = await Promise.all(work);
    afterRecord();
    const monitor = await waiting.begin();
    afterLaunch();
    return await superviseContainer(record, own, monitor);
  } catch (error) {
    if (made.status === "fulfilled") made.value.drop();
    throw error;
  }
}

async function takeMonitor(context: RuntimeContext, config: ContainerConfig): Promise<WaitingMonitor> {
  const { id, users, user } = config;
  const made = await context.ahead.take(id);
  return made ?? prepareMonitor(context, config, users === undefined ? undefined : users.first + user.uid);
}

/** The monitor, in its control group, with the container's files open. `logOwner`: see {@link prepareLaunch}. */
export async function prepareMonitor(
  { cgroups, launcher, logs, of, run }: RuntimeContext,
  container: ContainerName,
  logOwner?: number,
): Promise<WaitingMonitor> {
  const { id, pod } = container;
  const { files, logFile } = of(container);
  const [cgroup] = await Promise.all([
    cgroups.create(pod.uid, id),
    mkdir(logFolderOf(logs, container), { recursive: true, mode: 0o750 }),
    mkdir(files.folder, { recursive: true, mode: 0o700 }),
  ]);
  return prepareLaunch(launcher, {
    ...{ id, files, cgroup, logFile, root: run.runc },
    ...defined({ logOwner }),
  });
}

/** What runc starts it from: its root, the places where something is mounted in it, and its configuration. */
async function prepareBundle(
  context: RuntimeContext,
  files: ContainerFiles,
  config: ContainerConfig,
  hostRoot: () => Promise<HostRoot>,
): Promise<void> {
  const { cgroups, host, run } = context;
  const root = await rootOf(context, files, config, hostRoot);
  const { layers, extra, hidden, path } = root;
  const resolved = await resolveTargets(root, await withMessageFile(config, files));
  await writeBundle(files, await mapMounts(host, resolved, run.mapped(config.id)), {
    ...{ layers, extra, hidden, root: path, unified: cgroups.unified },
    cgroup: cgroups.path(config.pod.uid, config.id),
  });
}

/** The root of one container, with what belongs to it. */
interface ContainerRoot extends Pick<BaseRoot, "path" | "layers" | "extra" | "mountPoint"> {
  hidden: readonly OciMount[];
}

async function rootOf(
  { host, run }: RuntimeContext,
  files: ContainerFiles,
  { id, image, mounts, users }: ContainerConfig,
  hostRoot: () => Promise<HostRoot>,
): Promise<ContainerRoot> {
  if (users !== undefined) await makeMappedFolder(run.mapped(id), users);
  const own = users === undefined ? run.root(id) : join(run.mapped(id), "root");
  if (image !== undefined) {
    const path = own;
    await mountContainerRoot(host, image.root, { root: path, changes: files.changes, ...defined({ users }) });
    const taken = new Set(mounts.map(({ target }) => target));
    const extra: ContainerMount[] = [];
    for (const each of (await namesOfMachine()).filter(({ target }) => !taken.has(target)))
      extra.push({ ...each, target: await makeInRoot(path, each.target, "file") });
    return {
      path,
      extra,
      layers: [],
      hidden: [],
      mountPoint: (target, kind) => makeInImage(path, target, kind),
    };
  }
  const { base, hidden } = await hostRoot();
  const { path, layers, extra, mountPoint } = base;
  if (users === undefined) return { path, layers, extra, hidden, mountPoint };
  await bindRoot(host, path, own);
  return { path: own, layers, extra, hidden: await reachable(path, hidden), mountPoint };
}

/** As on every pod that has the machine's network: names are resolved as the machine does. */
async function namesOfMachine(): Promise<ContainerMount[]> {
  const found = await Promise.all(
    ["/etc/resolv.conf", "/etc/hosts"].map(async (target) => {
      const source = await realpath(target).catch(() => undefined);
      return source === undefined ? [] : [{ source, target, readOnly: true }];
    }),
  );
  return found.flat();
}

/** Each container has these of its own; runc makes what is needed in them. */
const ITS_OWN = ["/proc", "/dev", "/sys"];

async function makeInImage(root: string, target: string, kind: "directory" | "file"): Promise<string> {
  const plain = normalize(`${target}/`).slice(0, -1) || "/";
  if (ITS_OWN.some((own) => `${plain}/`.startsWith(`${own}/`))) return plain;
  return makeInRoot(root, target, kind);
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

function recordOf(config: ContainerConfig, bootID: string): ContainerRecord {
  const { id, pod, name, attempt, terminationMessage, image, imageID, stopSignal } = config;
  return {
    ...{ id, pod, name, attempt, bootID },
    ...defined({ imageRoot: image?.root, imageID, stopSignal }),
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

/** A file of its own for the container's termination message; everyone in it may write to it. */
async function withMessageFile(config: ContainerConfig, files: ContainerFiles): Promise<ContainerConfig> {
  if (config.terminationMessage === undefined) return config;
  await writeFile(files.message, "");
  await chmod(files.message, 0o666);
  const mount = { source: files.message, target: config.terminationMessage.path, readOnly: false };
  return { ...config, mounts: [...config.mounts, mount] };
}
