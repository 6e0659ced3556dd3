import type { ExecSession, SessionOptions } from "./session.ts";

/** A file or folder of the machine that a container sees. */
export interface ContainerMount {
  /** Absolute path on the machine. */
  source: string;
  /** Absolute path in the container. Made when the image has nothing there. */
  target: string;
  readOnly: boolean;
}

/** A block device (or a bind mount of its node) that a container sees. */
export interface ContainerDevice {
  source: string;
  target: string;
}

/** What a container may use of the machine; what is absent is not bounded. */
export interface ContainerResources {
  memoryBytes?: number;
  /** Thousandths of a processor that it may use at most. */
  cpuLimitMilli?: number;
  /** Thousandths of a processor: its weight against others when there is not enough for all. */
  cpuRequestMilli?: number;
  /** Processes and threads. */
  pids?: number;
}

/** Ids of the machine that stand for those of a container, from 0 on. */
export interface UserRange {
  first: number;
  size: number;
}

/** Everything that is needed to start a container; no reference to any object of the API is left in it. */
export interface ContainerConfig {
  /** Unique on the machine, and the same again when the same start is tried again. Letters, digits, `-`, `_`, `.`. */
  id: string;
  pod: { uid: string; namespace: string; name: string };
  name: string;
  /** How often this container was started before. */
  attempt: number;
  /**
   * Root folder of its image: the container gets a layer of its own on it, which ends with it. Absent: the machine's own
   * root, read-only.
   */
  image?: { root: string; readOnly: boolean };
  /** What its image is called in the status. */
  imageID?: string;
  /** Program and arguments. A program without `/` is found in the PATH of `env`. */
  argv: readonly string[];
  env: Readonly<Record<string, string>>;
  workingDir?: string;
  hostname: string;
  user: { uid: number; gid: number; groups: readonly number[] };
  /** Its users are others on the machine; absent: the same. */
  users?: UserRange;
  /** Names without `CAP_`; absent: all of them. */
  capabilities?: readonly string[];
  /** No program in it gains privileges that its parent lacks: no setuid bits, no capabilities of files. */
  noNewPrivileges?: boolean;
  /** Name of the AppArmor profile that the kernel has for it; absent: none. */
  appArmor?: string;
  /** System calls that it may make; default the runtime's own profile. */
  seccomp?: "unconfined";
  resources?: ContainerResources;
  mounts: readonly ContainerMount[];
  devices: readonly ContainerDevice[];
  /** Number of the signal that asks its program to end; default SIGTERM. */
  stopSignal?: number;
  /** Where the container may write a line about its end; absent: nowhere. */
  terminationMessage?: { path: string; fromLog: boolean };
}

/** How a container ended, with the codes and reasons of `status.containerStatuses[].state.terminated`. */
export interface ContainerExit {
  /** 128 + n when signal n ended it. */
  code: number;
  /** `Completed`, `Error`, `OOMKilled`, `StartError` or `ContainerStatusUnknown`. */
  reason: string;
  message?: string;
  /** RFC 3339. */
  finishedAt: string;
  /** It ended because Mooring or the machine stopped: no failing of its own. */
  shutdown?: true;
}

/** What the runtime knows of one attempt to run a container. */
export interface ContainerStatus {
  id: string;
  pod: { uid: string; namespace: string; name: string };
  name: string;
  attempt: number;
  /** `created`: asked for, not seen running. */
  state: "created" | "running" | "exited";
  /** RFC 3339. */
  createdAt: string;
  startedAt?: string;
  /** Root folder of its image, and what the image is called. */
  imageRoot?: string;
  imageID?: string;
  /** Process id on the machine of the container's init. */
  pid?: number;
  exit?: ContainerExit;
}

/**
 * How a container is ended: SIGTERM, then SIGKILL after `graceMs` or when `signal` aborts. With `shutdown` its exit counts
 * as none of its own.
 */
export interface StopOptions {
  graceMs: number;
  signal?: AbortSignal;
  shutdown?: boolean;
}

/** Which part of a log is read; the names are those of the `log` subresource. */
export interface LogOptions {
  /** Wait for more until the container has ended. */
  follow?: boolean;
  tailLines?: number;
  sinceSeconds?: number;
  /** RFC 3339. */
  sinceTime?: string;
  limitBytes?: number;
  /** Put the time before each line. */
  timestamps?: boolean;
  signal?: AbortSignal;
}

/** What a program left that ran inside of a container. One that took too long was killed. */
export interface ExecResult {
  exitCode: number;
  /** False: the program was never started, and the exit code is that of what was to start it. */
  started: boolean;
  /** Standard output and error, the last 16 KiB. */
  output: string;
  timedOut: boolean;
}

/**
 * Runs containers. All state is on disk and in the kernel, so that a runtime which is opened again finds the
 * containers that were started by the last one, running or ended.
 */
export interface Runtime {
  /** For what is secret, and ends with the machine; in memory. The part that uses it makes it. */
  readonly secretFolder: string;
  /** Folders that no container may see. */
  hiddenFolders(): Promise<string[]>;
  /** Every container that was not removed. */
  list(): ContainerStatus[];
  get(id: string): ContainerStatus | undefined;
  /**
   * Does ahead what starts of containers without an image have in common, while the pod's volumes are still on their way.
   * Need not be called, and never fails: the start says what is wrong.
   */
  prepare(): Promise<void>;
  /**
   * Does ahead what the start of one container needs besides its configuration; not of one with users of its own. It is undone
   * when its pod is removed, or with `close`, unless it is started. Need not be called.
   */
  prepareStart(container: Pick<ContainerConfig, "id" | "pod" | "name" | "attempt">): void;
  /** Resolves when the container runs or has failed to; a container of that id that was started before is left alone. */
  start(config: ContainerConfig): Promise<ContainerStatus>;
  /**
   * SIGTERM to its main process, SIGKILL to everything in it after the grace. Resolves when nothing of it runs.
   * `shutdown`: it is not to blame for its end.
   */
  stop(id: string, options: StopOptions): Promise<void>;
  /** Runs a program in the container as its own programs run: namespaces, user, capabilities, system calls, limits. */
  exec(
    id: string,
    argv: readonly string[],
    options: { timeoutMs: number; signal?: AbortSignal },
  ): Promise<ExecResult>;
  /** The same for a client that writes to it and reads from it while it runs. Throws when the container does not run. */
  open(id: string, argv: readonly string[], options: SessionOptions): Promise<ExecSession>;
  /** Address by which a program of the pod is reached on a TCP port; undefined when none listens on it. */
  listenerOf(podUID: string, port: number): Promise<string | undefined>;
  /** Folders on disk that grow with what the containers of a pod write into their own layers and logs, by container. */
  storageOf(podUID: string): { name: string; paths: string[] }[];
  /** Forgets a container that has ended, and its log. */
  remove(id: string): Promise<void>;
  /** Removes the logs and the cgroup of a pod that has no containers any more. */
  removePod(pod: { uid: string; namespace: string; name: string }): Promise<void>;
  /** Pods that left logs or cgroups behind, by uid. */
  podsOnDisk(): Promise<{ uid: string; namespace: string; name: string }[]>;
  logs(
    container: { pod: ContainerConfig["pod"]; name: string; attempt: number },
    options?: LogOptions,
  ): AsyncIterable<Uint8Array>;
  /** Stops every process of the pod where it is; the returned function lets them go on. */
  freeze(podUID: string): Promise<() => Promise<void>>;
  /** Called with the pod's uid after each change of one of its containers. Returns what ends that. */
  onChange(listener: (podUID: string) => void): () => void;
  /** Releases everything but the containers, which keep running. */
  close(): Promise<void>;
}
