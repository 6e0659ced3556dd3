import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { createHost, type Host } from "@mooring/engine";
import type { Logger } from "@mooring/store";
import { type BaseRoot, closeBaseRoot, openBaseRoot } from "./base-root.ts";
import { adoptContainer, beginContainer, type RuntimeContext } from "./begin-container.ts";
import { openCgroups } from "./cgroups.ts";
import type { Container } from "./container.ts";
import { type ContainerRecord, containerFiles, readRecords } from "./container-files.ts";
import { environmentOf, execInContainer } from "./exec.ts";
import { logFileOf, parseLogFolder, podLogFolder } from "./log-paths.ts";
import { readLog } from "./log-read.ts";
import { bootID } from "./process-identity.ts";
import type { ContainerConfig, ContainerStatus, ExecResult, LogOptions, Runtime } from "./runtime.ts";

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
  const records = join(stateDir, "runtime", "containers");
  const logs = join(stateDir, "logs");
  const listeners = new Set<(podUID: string) => void>();
  const cgroups = await openCgroups(stateDir);
  const context: RuntimeContext = {
    ...{ cgroups, logger, logs, hidden },
    bootID: await bootID(),
    of: (record) => ({
      ...{ cgroups, logger },
      files: containerFiles(join(records, record.id)),
      logFile: logFileOf(logs, record),
      changed: () => {
        for (const listener of listeners) listener(record.pod.uid);
      },
    }),
  };
  const found = await Promise.all((await readRecords(records)).map((each) => adoptContainer(context, each)));
  const adopted = found.filter((container) => container !== undefined);
  return new ProcessRuntime(
    context,
    { host, baseFolder: join(stateDir, "runtime", "base") },
    listeners,
    adopted,
  );
}

class ProcessRuntime implements Runtime {
  readonly #context: RuntimeContext;
  readonly #place: { host: Host; baseFolder: string };
  readonly #listeners: Set<(podUID: string) => void>;
  readonly #containers: Map<string, Container>;
  #root: Promise<BaseRoot> | undefined;

  constructor(
    context: RuntimeContext,
    place: { host: Host; baseFolder: string },
    listeners: Set<(podUID: string) => void>,
    adopted: readonly Container[],
  ) {
    this.#context = context;
    this.#place = place;
    this.#listeners = listeners;
    this.#containers = new Map(adopted.map((container) => [container.record().id, container]));
  }

  list(): ContainerStatus[] {
    return [...this.#containers.values()].map((container) => container.status());
  }

  get(id: string): ContainerStatus | undefined {
    return this.#containers.get(id)?.status();
  }

  async start(config: ContainerConfig): Promise<ContainerStatus> {
    const present = this.#containers.get(config.id);
    if (present !== undefined) return present.status();
    const container = await beginContainer(this.#context, await this.#openRoot(), config);
    this.#containers.set(config.id, container);
    return container.status();
  }

  stop(id: string, { graceMs, signal }: { graceMs: number; signal?: AbortSignal }): Promise<void> {
    return this.#known(id).stop(graceMs, signal);
  }

  async exec(
    id: string,
    argv: readonly string[],
    options: { timeoutMs: number; signal?: AbortSignal },
  ): Promise<ExecResult> {
    const container = this.#known(id);
    const { pid, state, pod } = container.status();
    const main = await container.main();
    if (pid === undefined || main === undefined || state !== "running") {
      throw new Error(`container ${id} is not running`);
    }
    const cgroup = await this.#context.cgroups.create(pod.uid, id);
    const target = { record: container.record(), init: pid, cgroup, env: await environmentOf(main.pid) };
    return execInContainer(target, argv, options);
  }

  async remove(id: string): Promise<void> {
    const container = this.#containers.get(id);
    await container?.ended;
    await container?.forget();
    this.#containers.delete(id);
  }

  async removePod(pod: ContainerConfig["pod"]): Promise<void> {
    const { cgroups, logs } = this.#context;
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
    const { cgroups } = this.#context;
    const all = [...this.#containers.values()];
    const running = all.some((container) => container.status().state !== "exited");
    await Promise.all(all.map((container) => container.release()));
    // Containers have the root mounted in their own namespaces; ours is only needed to start more of them.
    if (!running) await closeBaseRoot(this.#place.host, this.#place.baseFolder);
    for (const uid of await cgroups.pods()) {
      if ((await cgroups.processes(uid)).length === 0) await cgroups.remove(uid);
    }
    await cgroups.close();
  }

  #known(id: string): Container {
    const container = this.#containers.get(id);
    if (container === undefined) throw new Error(`there is no container ${id}`);
    return container;
  }

  /** Made with the first container; a failure is not kept. */
  #openRoot(): Promise<BaseRoot> {
    this.#root ??= openBaseRoot(this.#place.host, this.#place.baseFolder).catch((error: unknown) => {
      this.#root = undefined;
      throw error;
    });
    return this.#root;
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
