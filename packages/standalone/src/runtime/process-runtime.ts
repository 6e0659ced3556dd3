import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { createHost, type Host } from "@mooring/engine";
import type { Logger } from "@mooring/store";
import { closeBaseRoot } from "./base-root.ts";
import { adoptContainer, beginContainer, prepareMonitor, type RuntimeContext } from "./begin-container.ts";
import { cgroupName, openCgroups } from "./cgroups.ts";
import type { Container } from "./container.ts";
import {
  type ContainerFiles,
  type ContainerName,
  type ContainerRecord,
  containerFiles,
  readRecords,
  recordsFolder,
} from "./container-files.ts";
import { removeContainerRoot } from "./container-root.ts";
import { controllersHere } from "./controllers.ts";
import { type ExecTarget, execInContainer } from "./exec.ts";
import { openSession } from "./exec-session.ts";
import { HostRoots } from "./host-root.ts";
import { Launcher } from "./launcher.ts";
import { addressOfListener } from "./listening.ts";
import { logFileOf, logFolderOf, parseLogFolder, podLogFolder } from "./log-paths.ts";
import { readLog } from "./log-read.ts";
import { MonitorsAhead } from "./monitors-ahead.ts";
import { bootID } from "./process-identity.ts";
import { openRunFolder, type RunFolder } from "./run-folder.ts";
import { deleteContainer } from "./runc.ts";
import type {
  ContainerConfig,
  ContainerStatus,
  ExecResult,
  LogOptions,
  Runtime,
  StopOptions,
} from "./runtime.ts";
import type { ExecSession, SessionOptions } from "./session.ts";
import { removeMapped, removeMappedVolumes } from "./user-namespace.ts";

const WANTED_CONTROLLERS: readonly string[] = ["memory", "cpu", "pids", "devices"];

/** Where the runtime keeps what it needs, and what it hides from containers. */
export interface ProcessRuntimeOptions {
  /** Contains `runtime/` (records), `logs/` and, while containers can be started, the containers' root. */
  stateDir: string;
  logger: Logger;
  /** Folders that no container may see; default the state folder. Give the one above it when that has keys, too. */
  hidden?: readonly string[];
  host?: Host;
}

/**
 * Containers by runc: own mount, pid, ipc and uts namespaces, control groups, Kubernetes' default capabilities and system
 * calls; the machine's root file system read-only below the pod's volumes, and its network. Containers of an earlier run
 * on the same state folder are taken over.
 */
export async function createProcessRuntime(options: ProcessRuntimeOptions): Promise<Runtime> {
  const { stateDir, logger, hidden = [stateDir], host = createHost() } = options;
  const records = recordsFolder(stateDir);
  const logs = join(stateDir, "logs");
  const listeners = new Set<(podUID: string) => void>();
  const cgroups = await openCgroups(stateDir);
  // Before it is noted as hidden: what is noted of a folder that is not there counts as left by a killed process.
  await mkdir(records, { recursive: true, mode: 0o700 });
  const run = await openRunFolder(cgroupName(stateDir), hidden);
  const filesOf = (id: string) => containerFiles(join(records, id), run.bundle(id));
  const controllers = await controllersHere();
  const missing = WANTED_CONTROLLERS.filter((name) => !controllers.has(name));
  if (missing.length > 0) {
    logger.warn(
      { missing },
      "control groups lack controllers: containers are not bounded in these, and limits are refused",
    );
  }
  const context: RuntimeContext = {
    ...{ cgroups, logger, logs, run, host },
    launcher: new Launcher(),
    ahead: new MonitorsAhead(),
    bootID: await bootID(),
    of: (container) => ({
      ...{ cgroups, logger },
      files: filesOf(container.id),
      logFile: logFileOf(logs, container),
      started: () => removeMappedVolumes(host, run.mapped(container.id)),
      cleanUp: () => cleanUp({ run, host, filesOf }, container.id),
      changed: () => {
        for (const listener of listeners) listener(container.pod.uid);
      },
    }),
  };
  const recorded = await readRecords(records, filesOf);
  const found = await Promise.all(recorded.map((each) => adoptContainer(context, each)));
  const adopted = found.filter((container) => container !== undefined);
  const known = new Set(adopted.map((container) => container.record().id));
  for (const id of await run.containers()) if (!known.has(id)) await cleanUp({ run, host, filesOf }, id);
  return new ProcessRuntime(
    context,
    { host, baseFolder: join(stateDir, "runtime", "base") },
    listeners,
    adopted,
  );
}

/** Nothing of it runs any more, or it was never really started. */
async function cleanUp(
  { run, host, filesOf }: { run: RunFolder; host: Host; filesOf: (id: string) => ContainerFiles },
  id: string,
): Promise<void> {
  await deleteContainer(host, run.runc, id);
  await removeMapped(host, run.mapped(id));
  await removeContainerRoot(host, { root: run.root(id), changes: filesOf(id).changes });
  await rm(run.bundle(id), { recursive: true, force: true });
}

class ProcessRuntime implements Runtime {
  readonly #context: RuntimeContext;
  readonly #place: { host: Host; baseFolder: string };
  readonly #listeners: Set<(podUID: string) => void>;
  readonly #containers: Map<string, Container>;
  readonly #roots: HostRoots;

  constructor(
    context: RuntimeContext,
    place: { host: Host; baseFolder: string },
    listeners: Set<(podUID: string) => void>,
    adopted: readonly Container[],
  ) {
    this.#context = context;
    this.#place = place;
    this.#roots = new HostRoots(place.host, place.baseFolder, () => context.run.hidden());
    this.#listeners = listeners;
    this.#containers = new Map(adopted.map((container) => [container.record().id, container]));
  }

  get secretFolder(): string {
    return this.#context.run.secrets;
  }

  hiddenFolders(): Promise<string[]> {
    return this.#context.run.hidden();
  }

  list(): ContainerStatus[] {
    return [...this.#containers.values()].map((container) => container.status());
  }

  get(id: string): ContainerStatus | undefined {
    return this.#containers.get(id)?.status();
  }

  async prepare(): Promise<void> {
    this.#context.launcher.prepare();
    await this.#roots.current().catch(() => undefined);
  }

  prepareStart(container: ContainerName): void {
    if (this.#containers.has(container.id)) return;
    this.#context.ahead.make(container, () => prepareMonitor(this.#context, container));
  }

  async start(config: ContainerConfig): Promise<ContainerStatus> {
    const present = this.#containers.get(config.id);
    if (present !== undefined) return present.status();
    const container = await beginContainer(this.#context, () => this.#roots.current(), config);
    this.#containers.set(config.id, container);
    return container.status();
  }

  stop(id: string, options: StopOptions): Promise<void> {
    return this.#known(id).stop(options);
  }

  async exec(
    id: string,
    argv: readonly string[],
    options: { timeoutMs: number; signal?: AbortSignal },
  ): Promise<ExecResult> {
    return execInContainer(await this.#target(id), argv, options);
  }

  async open(id: string, argv: readonly string[], options: SessionOptions): Promise<ExecSession> {
    return openSession(await this.#target(id), argv, options);
  }

  async #target(id: string): Promise<ExecTarget> {
    const { pid, state, pod } = this.#known(id).status();
    if (pid === undefined || state !== "running") throw new Error(`container ${id} is not running`);
    const { cgroups, run } = this.#context;
    const { container: cgroup = "" } = await cgroups.create(pod.uid, id);
    return { id, cgroup, root: run.runc, bundle: run.bundle(id) };
  }

  async listenerOf(podUID: string, port: number): Promise<string | undefined> {
    return addressOfListener(await this.#context.cgroups.processes(podUID), port);
  }

  storageOf(podUID: string): { name: string; paths: string[] }[] {
    const { logs, of } = this.#context;
    const records = [...this.#containers.values()].map((each) => each.record());
    const own = records.filter(({ pod }) => pod.uid === podUID);
    const ownFiles = (record: ContainerRecord) => {
      const { changes, message } = of(record).files;
      return [changes, message];
    };
    return [...new Set(own.map(({ name }) => name))].map((name) => {
      const attempts = own.filter((record) => record.name === name);
      const folders = attempts.map((record) => logFolderOf(logs, record));
      return {
        name,
        paths: [...new Set([...folders, ...attempts.flatMap(ownFiles)])],
      };
    });
  }

  async remove(id: string): Promise<void> {
    const container = this.#containers.get(id);
    await container?.ended;
    await container?.forget();
    this.#containers.delete(id);
  }

  async removePod(pod: ContainerConfig["pod"]): Promise<void> {
    const { cgroups, logs } = this.#context;
    await this.#dropPrepared(pod.uid);
    await cgroups.kill(pod.uid);
    await cgroups.remove(pod.uid);
    await rm(podLogFolder(logs, pod), { recursive: true, force: true });
  }

  async podsOnDisk(): Promise<ContainerConfig["pod"][]> {
    const names = await readdir(join(this.#context.logs, "pods")).catch(() => []);
    return names.map(parseLogFolder).filter((pod) => pod !== undefined);
  }

  logs(
    container: { pod: ContainerConfig["pod"]; name: string; attempt: number },
    options: LogOptions = {},
  ): AsyncIterable<Uint8Array> {
    const found = [...this.#containers.values()].find((each) => isAttempt(each.record(), container));
    const ended = () => found === undefined || found.status().state === "exited";
    return readLog(logFileOf(this.#context.logs, container), options, ended);
  }

  async freeze(podUID: string): Promise<() => Promise<void>> {
    const { cgroups } = this.#context;
    await cgroups.freeze(podUID, true);
    return () => cgroups.freeze(podUID, false);
  }

  onChange(listener: (podUID: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    const { cgroups, launcher, run } = this.#context;
    const all = [...this.#containers.values()];
    const running = all.some((container) => container.status().state !== "exited");
    await this.#dropPrepared();
    await Promise.all(all.map((container) => container.release()));
    await launcher.close();
    await this.#roots.settled();
    // Containers have the root mounted in their own namespaces; ours is only needed to start more of them.
    if (!running) await closeBaseRoot(this.#place.host, this.#place.baseFolder);
    for (const uid of await cgroups.pods()) {
      if ((await cgroups.processes(uid)).length === 0) await cgroups.remove(uid);
    }
    await cgroups.close();
    await run.close();
  }

  /** Without a record nothing of them would be found in this life. */
  async #dropPrepared(podUID?: string): Promise<void> {
    const { ahead, cgroups, of } = this.#context;
    for (const container of await ahead.drop(podUID)) {
      await cgroups.remove(container.pod.uid, container.id);
      await rm(of(container).files.folder, { recursive: true, force: true });
    }
  }

  #known(id: string): Container {
    const container = this.#containers.get(id);
    if (container === undefined) throw new Error(`there is no container ${id}`);
    return container;
  }
}

function isAttempt(
  record: ContainerRecord,
  wanted: { pod: { uid: string }; name: string; attempt: number },
): boolean {
  return (
    record.pod.uid === wanted.pod.uid && record.name === wanted.name && record.attempt === wanted.attempt
  );
}
