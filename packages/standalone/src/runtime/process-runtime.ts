import { createHash } from "node:crypto";
import { chmod, mkdir, readdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createHost, type Host } from "@mooring/engine";
import { failpoint, type Logger } from "@mooring/store";
import { type BaseRoot, closeBaseRoot, openBaseRoot } from "./base-root.ts";
import { bubblewrapOptions, containerCommand } from "./bubblewrap.ts";
import { openCgroups } from "./cgroups.ts";
import { type Container, superviseContainer } from "./container.ts";
import {
  type ContainerFiles,
  type ContainerRecord,
  containerFiles,
  readMonitor,
  readRecords,
  writeRecord,
} from "./container-files.ts";
import { environmentOf, execInContainer } from "./exec.ts";
import { launch } from "./launch.ts";
import { logFileOf, logFolderOf, parseLogFolder } from "./log-paths.ts";
import { readLog } from "./log-read.ts";
import { bootID } from "./process-identity.ts";
import type { ContainerConfig, Runtime } from "./runtime.ts";

const afterRecord = failpoint("standalone/runtime/recorded");
const afterLaunch = failpoint("standalone/runtime/launched");

export interface ProcessRuntimeOptions {
  /** Holds `runtime/` (records), `logs/` and, while containers can be started, the containers' root. */
  stateDir: string;
  logger: Logger;
  /** Folders that no container may see; default the state folder. Give the one above it when that holds keys, too. */
  hidden?: readonly string[];
  host?: Host;
}

/**
 * Containers as processes of this machine: own mount, pid, ipc and uts namespaces made by bubblewrap, the machine's root
 * file system read-only below the pod's volumes. Containers of an earlier run on the same state folder are taken over.
 */
export async function createProcessRuntime(options: ProcessRuntimeOptions): Promise<Runtime> {
  const { stateDir, logger, hidden = [stateDir], host = createHost() } = options;
  const folder = join(stateDir, "runtime");
  const logs = join(stateDir, "logs");
  const recordsFolder = join(folder, "containers");
  const boot = await bootID();
  const cgroups = await openCgroups(
    `mooring-${createHash("sha256").update(stateDir).digest("hex").slice(0, 12)}`,
  );
  const containers = new Map<string, Container>();
  const listeners = new Set<(podUID: string) => void>();
  let base: Promise<BaseRoot> | undefined;

  const contextOf = (record: ContainerRecord) => ({
    files: containerFiles(join(recordsFolder, record.id)),
    logFile: logFileOf(logs, record),
    cgroups,
    logger,
    changed: () => {
      for (const listener of listeners) listener(record.pod.uid);
    },
  });

  async function adopt({ record, files }: { record: ContainerRecord; files: ContainerFiles }): Promise<void> {
    const present = record.bootID === boot ? record : await forgetProcesses(record, files, boot);
    if (present.exit === undefined && record.bootID === boot && (await readMonitor(files)) === undefined) {
      // Killed between the record and the launch: as if this start had never been asked for.
      await cgroups.kill(record.pod.uid, record.id);
      await cgroups.remove(record.pod.uid, record.id);
      await rm(files.folder, { recursive: true, force: true });
      return;
    }
    containers.set(record.id, await superviseContainer(present, contextOf(record)));
  }

  async function start(config: ContainerConfig): Promise<Container> {
    base ??= openBaseRoot(host, join(folder, "base"));
    const root = await base;
    const record: ContainerRecord = {
      id: config.id,
      pod: config.pod,
      name: config.name,
      attempt: config.attempt,
      createdAt: new Date().toISOString(),
      bootID: boot,
      user: config.user,
      ...(config.workingDir === undefined ? {} : { workingDir: config.workingDir }),
      ...(config.terminationMessage?.fromLog === true ? { messageFromLog: true } : {}),
    };
    const context = contextOf(record);
    await mkdir(logFolderOf(logs, record), { recursive: true, mode: 0o750 });
    await writeRecord(context.files, record);
    const resolved = await resolveTargets(root, await withMessageFile(config, context.files), hidden);
    afterRecord();
    const child = await launch({
      files: context.files,
      cgroup: await cgroups.create(config.pod.uid, config.id),
      options: bubblewrapOptions(resolved.config, {
        root: root.path,
        hidden: resolved.hidden,
        extra: root.extra,
      }),
      command: containerCommand(config),
      logFile: context.logFile,
    });
    afterLaunch();
    try {
      return await superviseContainer(record, context, child);
    } catch (error) {
      await cgroups.kill(record.pod.uid, record.id);
      await rm(context.files.folder, { recursive: true, force: true });
      throw error;
    }
  }

  const known = (id: string): Container => {
    const container = containers.get(id);
    if (container === undefined) throw new Error(`there is no container ${id}`);
    return container;
  };

  await Promise.all((await readRecords(recordsFolder)).map(adopt));
  return {
    list: () => [...containers.values()].map((container) => container.status()),
    get: (id) => containers.get(id)?.status(),
    async start(config) {
      const present = containers.get(config.id);
      if (present !== undefined) return present.status();
      const container = await start(config);
      containers.set(config.id, container);
      return container.status();
    },
    stop: (id, { graceMs, signal }) => known(id).stop(graceMs, signal),
    async exec(id, argv, execOptions) {
      const container = known(id);
      const { pid, state, pod } = container.status();
      const main = await container.main();
      if (pid === undefined || main === undefined || state !== "running")
        throw new Error(`container ${id} is not running`);
      const cgroup = await cgroups.create(pod.uid, id);
      const target = { record: container.record(), init: pid, cgroup, env: await environmentOf(main.pid) };
      return execInContainer(target, argv, execOptions);
    },
    async remove(id) {
      await containers.get(id)?.ended;
      await containers.get(id)?.forget();
      containers.delete(id);
    },
    async removePod(pod) {
      await cgroups.kill(pod.uid);
      await cgroups.remove(pod.uid);
      await rm(join(logs, "pods", `${pod.namespace}_${pod.name}_${pod.uid}`), {
        recursive: true,
        force: true,
      });
    },
    async podsOnDisk() {
      const names = await readdir(join(logs, "pods")).catch(() => []);
      return names.map(parseLogFolder).filter((pod) => pod !== undefined);
    },
    logs(container, logOptions = {}) {
      const found = [...containers.values()].find((each) => isAttempt(each.record(), container));
      const ended = () => found === undefined || found.status().state === "exited";
      return readLog(logFileOf(logs, container), logOptions, ended);
    },
    async freeze(podUID) {
      await cgroups.freeze(podUID, true);
      return () => cgroups.freeze(podUID, false);
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async close() {
      const all = [...containers.values()];
      const running = all.some((container) => container.status().state !== "exited");
      await Promise.all(all.map((container) => container.release()));
      // Containers have the root mounted in their own namespaces; ours is only needed to start more of them.
      if (!running) await closeBaseRoot(host, join(folder, "base"));
      for (const uid of await cgroups.pods()) {
        if ((await cgroups.processes(uid)).length === 0) await cgroups.remove(uid);
      }
      await cgroups.close();
    },
  };
}

function isAttempt(
  record: ContainerRecord,
  wanted: { pod: { uid: string }; name: string; attempt: number },
): boolean {
  return (
    record.pod.uid === wanted.pod.uid && record.name === wanted.name && record.attempt === wanted.attempt
  );
}

/** Process numbers of an earlier boot belong to others now. */
async function forgetProcesses(
  record: ContainerRecord,
  files: ContainerFiles,
  boot: string,
): Promise<ContainerRecord> {
  await rm(files.pid, { force: true });
  const { init: _, ...rest } = record;
  return { ...rest, bootID: boot };
}

/** A file of its own for the container's last words; everyone in it may write to it. */
async function withMessageFile(config: ContainerConfig, files: ContainerFiles): Promise<ContainerConfig> {
  if (config.terminationMessage === undefined) return config;
  await writeFile(files.message, "");
  await chmod(files.message, 0o666);
  const mount = { source: files.message, target: config.terminationMessage.path, readOnly: false };
  return { ...config, mounts: [...config.mounts, mount] };
}

async function resolveTargets(base: BaseRoot, config: ContainerConfig, folders: readonly string[]) {
  const mounts = await Promise.all(
    config.mounts.map(async (mount) => {
      const kind = (await stat(mount.source)).isDirectory() ? "directory" : "file";
      return { ...mount, target: await base.mountPoint(mount.target, kind) };
    }),
  );
  const hidden = await Promise.all(folders.map((folder) => base.mountPoint(folder, "directory")));
  return { config: { ...config, mounts }, hidden };
}
