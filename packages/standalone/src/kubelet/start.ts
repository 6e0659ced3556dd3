import { mkdir, readdir } from "node:fs/promises";
import type { Socket } from "node:net";
import { join } from "node:path";
import { createHost, type Host } from "@mooring/engine";
import {
  allowManyListeners,
  defined,
  delay,
  EventRecorder,
  KubeVolumeAttachments,
  type Logger,
  type ObjectStore,
} from "@mooring/store";
import { type ClusterView, openClusterView } from "../controllers/cluster-view.ts";
import { Images } from "../images/index.ts";
import type { ExecSession, Runtime } from "../runtime/index.ts";
import { type Drivers, openDrivers } from "./csi/drivers.ts";
import type { DriverHost } from "./driver-registration/context.ts";
import { startDriverRegistration } from "./driver-registration/index.ts";
import { Evictions } from "./eviction/evictions.ts";
import { type ExecRequest, openExec } from "./exec.ts";
import { type LogRequest, readPodLog } from "./logs.ts";
import { diskPressure } from "./node/disk-pressure.ts";
import { machineFacts } from "./node/machine.ts";
import { type NodeSettings, resourcesOf } from "./node/node-object.ts";
import { type NodeRegistration, registerNode } from "./node/registration.ts";
import { type KubeletPaths, kubeletPaths } from "./paths.ts";
import type { PodControllerOptions } from "./pods/context.ts";
import { runPods } from "./pods/index.ts";
import { PodImages } from "./pods/pod-images.ts";
import { createPodVolumes, type PodVolumes } from "./pods/pod-volumes.ts";
import { UserRanges } from "./pods/user-ranges.ts";
import { PodWakes } from "./pods/wakes.ts";
import { type ForwardRequest, openPort } from "./port-forward.ts";
import { stopPods } from "./stop.ts";
import { reportConditions } from "./volumes/conditions.ts";
import type { CsiVolume } from "./volumes/csi-volume.ts";
import { startVolumeManager, type VolumeManager } from "./volumes/index.ts";
import { LostMounts } from "./volumes/lost-mounts.ts";
import { type IssueToken, PodTokens } from "./volumes/tokens.ts";
import { traceVolume } from "./volumes/trace-volume.ts";
import { type ClaimUsage, measureClaims, type UsageSources } from "./volumes/usage.ts";

/** What a kubelet is started with. */
export interface KubeletOptions {
  store: ObjectStore;
  /** Shared with the controllers; opened when absent. */
  view?: ClusterView;
  nodeName: string;
  settings?: NodeSettings;
  /** Root of everything that the kubelet keeps: `pods/`, `plugins/`. */
  stateDir: string;
  /** Socket of each CSI driver that needs not register itself, by driver name: `unix:///path`. */
  csiEndpoints: Readonly<Record<string, string>>;
  /** Serves drivers that register themselves in `plugins_registry` of the state folder; without it none is taken. */
  driverHost?: DriverHost;
  /** Closed with the kubelet. */
  runtime: Runtime;
  /** Signs the service account tokens that pods ask for; without it they get none. */
  issueToken?: IssueToken;
  logger: Logger;
  host?: Host;
  /** How often it is read what pods have on disk (default 10 s), and what is mounted for them (default 5 s). */
  measureMs?: number;
  /**
   * Milliseconds between two publications for drivers with `requiresRepublish`; default a minute, as of upstream's kubelet.
   */
  republishMs?: number;
  /** Milliseconds between two reads of what drivers report of the volumes; default a minute, as of upstream's kubelet. */
  conditionsMs?: number;
  /** Ends everything cleanly: see {@link startKubelet}. */
  signal: AbortSignal;
}

/** A kubelet that runs, as the API server needs it. */
export interface Kubelet {
  logs(request: LogRequest): AsyncIterable<Uint8Array>;
  /** Starts a program in a container of this node. */
  exec(request: ExecRequest): Promise<ExecSession>;
  /** Connects to a port on which a program of a pod of this node listens. */
  forward(request: ForwardRequest): Promise<Socket>;
  /** What is measured of the volumes of this node's pods. */
  measureClaims(): Promise<ClaimUsage[]>;
  /** Settles when no process, mount or attachment of a pod is left on the machine. */
  readonly done: Promise<void>;
}

/** How long detaching may take when the kubelet is stopped, before it is left to the next start. */
const DETACH_MS = 20_000;

const REPUBLISH_MS = 60_000;

/** What a kubelet is made of. */
interface Parts extends PodControllerOptions {
  volumes: PodVolumes;
  manager: VolumeManager;
  drivers: Drivers;
  registration: NodeRegistration;
  /** Settles when no driver is registered or unregistered any more. */
  driverRegistration: Promise<void>;
}

/**
 * Runs the pods of one node. When the signal aborts, the pods' processes are ended as for a deletion, their volumes
 * are unpublished, unstaged and detached, and their objects stay: the next start runs them again as restartPolicy
 * asks. When this process is killed instead, everything keeps running and the next start takes it over.
 */
export async function startKubelet(options: KubeletOptions): Promise<Kubelet> {
  // Works on after the caller's signal, until the pods have gone.
  const working = new AbortController();
  // Every wait and call for a volume listens to it.
  allowManyListeners(working.signal);
  try {
    const parts = await assemble(options, working.signal);
    wantRunning(parts);
    for (const uid of await podsOnDisk(options, parts)) parts.wakes.add(uid);
    const done = run(options, parts, working);
    return {
      logs: (request) => readPodLog(options, request),
      exec: (request) => openExec(options, request),
      forward: (request) => openPort(options, request),
      measureClaims: () => measureClaims(usageSources(parts), working.signal),
      done,
    };
  } catch (error) {
    working.abort();
    throw error;
  }
}

function usageSources({ view, node, drivers, manager }: Parts): UsageSources {
  return {
    ...{ view, drivers, pods: view.pods.byIndex("node", node.nodeName) },
    pathOf: publishedPath(manager),
  };
}

/** Where a volume is for a pod; undefined while it is not published for it. */
const publishedPath =
  (manager: VolumeManager) =>
  (uid: string, volume: CsiVolume): string | undefined =>
    manager.isReady(uid, [volume]) ? manager.pathOf(uid, volume) : undefined;

async function assemble(options: KubeletOptions, working: AbortSignal): Promise<Parts> {
  const { store, nodeName, stateDir, runtime, logger, signal, host = createHost() } = options;
  const paths = kubeletPaths(stateDir);
  await mkdir(paths.pods, { recursive: true, mode: 0o750 });
  const view = options.view ?? (await openClusterView(store, { logger, signal: working, podsOf: nodeName }));
  const events = new EventRecorder(store, { component: "kubelet", host: nodeName, logger });
  const drivers = openDrivers(options.csiEndpoints, logger);
  const facts = await machineFacts(nodeName, stateDir);
  const registration = await registerNode(store, facts, {
    ...defined({ settings: options.settings }),
    diskPressure: () => diskPressure(stateDir),
    ...{ logger, signal },
  });
  const wakes = new PodWakes();
  const tokens = new PodTokens({ store, issue: options.issueToken, due: (uid) => wakes.remount(uid) });
  const { republishMs = REPUBLISH_MS } = options;
  const manager = await startVolumeManager({
    ...{ store, view, host, drivers, paths, nodeName, events, tokens, logger, republishMs },
    changed: (uid) => wakes.add(uid),
    signal: working,
  });
  const { done: driverRegistration } = await registerDrivers(options, {
    ...{ view, drivers, manager, events, paths },
    signal: working,
  });
  const node = { nodeName, address: facts.address, allocatable: resourcesOf(facts) };
  const volumes = createPodVolumes({ store, view, host, paths, node, manager, events, tokens });
  const images = podImages(options, { host, events, wakes });
  const measured = measuredPods(options, { ...{ view, host, paths, events, wakes }, manager });
  return {
    store,
    view,
    runtime,
    volumes,
    images,
    ...measured,
    users: new UserRanges(paths),
    exec: host.exec,
    node,
    events,
    logger,
    wakes,
    signal,
    manager,
    drivers,
    registration,
    driverRegistration,
    // Over the network a node reads the secrets of its pods one by one, and no lists of them.
    referencesBy: options.view === undefined ? "ask" : "watch",
  };
}

interface RegistrationParts extends Pick<Parts, "view" | "drivers" | "manager" | "events"> {
  paths: KubeletPaths;
  signal: AbortSignal;
}

interface MeasuredParts extends Pick<Parts, "view" | "manager" | "events" | "wakes"> {
  host: Host;
  paths: KubeletPaths;
}

/** Registers drivers for as long as volumes are worked on: their drivers are needed until the last volume is gone. */
async function registerDrivers(
  { store, nodeName, driverHost: host, logger }: KubeletOptions,
  { paths, ...parts }: RegistrationParts,
): Promise<{ done: Promise<void> }> {
  if (host === undefined) return { done: Promise.resolve() };
  const { registry: folder, registered: records } = paths;
  const { done } = await startDriverRegistration({
    ...{ store, nodeName, host, folder, records, logger },
    ...parts,
  });
  const reported = (error: unknown) =>
    logger.error({ err: error, folder }, "drivers that register from now on are not seen");
  return { done: done.catch(reported) };
}

function podImages(
  { store, stateDir, runtime, signal }: KubeletOptions,
  { host, events, wakes }: { host: Host; events: EventRecorder; wakes: PodWakes },
): PodImages {
  const started = () => runtime.list().filter(({ state }) => state !== "exited");
  const images = new Images({
    host,
    folder: join(stateDir, "images"),
    secrets: runtime.secretFolder,
    hidden: () => runtime.hiddenFolders(),
    inUse: () => [...started().flatMap(({ imageRoot = [] }) => imageRoot), ...pods.roots()],
    signal,
  });
  const pods: PodImages = new PodImages({ images, store, events, changed: (uid) => wakes.add(uid) });
  return pods;
}

/** What is read of the machine again and again, as nothing reports it. */
function measuredPods(
  { nodeName, runtime, logger, measureMs }: KubeletOptions,
  { view, host, paths, events, wakes, manager }: MeasuredParts,
): Pick<Parts, "evictions" | "lostMounts"> {
  const shared = {
    ...{ events, logger },
    pods: () => view.pods.byIndex("node", nodeName),
    changed: (uid: string) => wakes.add(uid),
    ...defined({ everyMs: measureMs }),
  };
  return {
    evictions: new Evictions({ ...shared, runtime, paths, exec: host.exec }),
    lostMounts: new LostMounts({
      ...{ ...shared, view, host },
      pathOf: (uid, volume) => (manager.isMounted(uid, volume) ? manager.pathOf(uid, volume) : undefined),
    }),
  };
}

/** Asks for the volumes of pods that run, before the kubelet releases any: they keep theirs. */
function wantRunning({ view, runtime, node, manager }: Parts): void {
  const running = new Set(
    runtime
      .list()
      .filter(({ state }) => state !== "exited")
      .map(({ pod }) => pod.uid),
  );
  for (const pod of view.pods.byIndex("node", node.nodeName)) {
    if (!running.has(pod.metadata.uid ?? "")) continue;
    const traced = (pod.spec?.volumes ?? []).map((volume) => traceVolume(view, pod, volume));
    manager.want(
      pod,
      traced.filter((each) => each !== undefined && "key" in each),
    );
  }
}

/** Pods that left something on this machine, whether they still have an object or not. */
async function podsOnDisk({ stateDir }: KubeletOptions, { runtime, manager }: Parts): Promise<Set<string>> {
  const logged = (await runtime.podsOnDisk()).map(({ uid }) => uid);
  const known = runtime.list().map(({ pod }) => pod.uid);
  const folders = await readdir(kubeletPaths(stateDir).pods);
  return new Set([...logged, ...known, ...folders, ...manager.podsOnDisk()]);
}

async function run(options: KubeletOptions, parts: Parts, working: AbortController): Promise<void> {
  const { store, logger, runtime, nodeName } = options;
  const { registration, manager, events, drivers, driverRegistration, signal } = parts;
  const sources = () => usageSources(parts);
  const reading = { drivers, events, sources, ...defined({ everyMs: options.conditionsMs }) };
  const reported = reportConditions(reading, signal);
  try {
    await runPods(parts);
    await stopPods({ ...parts, nodeName });
    await registration.done;
    await registration.markStopped();
    await detached(store, nodeName, drivers);
  } catch (error) {
    logger.error({ err: error }, "the kubelet could not stop cleanly; the next start goes on with it");
  } finally {
    working.abort();
    await manager.done;
    await driverRegistration;
    await events.flush();
    drivers.close();
    await reported;
    await runtime.close();
  }
}

/**
 * Waits until the volumes are detached. Those of a driver that is not here are still mounted on the node, and so stay
 * attached.
 */
async function detached(store: ObjectStore, nodeName: string, drivers: Drivers): Promise<void> {
  const deadline = performance.now() + DETACH_MS;
  for (;;) {
    const { items } = await store.list(KubeVolumeAttachments);
    const waits = items.some(({ spec }) => spec?.nodeName === nodeName && drivers.has(spec.attacher ?? ""));
    if (!waits || performance.now() > deadline) return;
    await delay(50);
  }
}
