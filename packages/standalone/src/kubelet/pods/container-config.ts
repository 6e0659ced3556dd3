import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Exec } from "@mooring/engine";
import { defined, Nodes, type ObjectStore, type Pod, parseMilli, parseQuantity } from "@mooring/store";
import { matchesPod, selectsNodes } from "../../controllers/scheduler/matches-pod.ts";
import { type Image, type ImageUser, imageUser, imageVariables, programOf } from "../../images/index.ts";
import {
  type ContainerConfig,
  type ContainerDevice,
  type ContainerMount,
  DEFAULT_CAPABILITIES,
  DEFAULT_PROFILE,
  loadDefaultProfile,
  machineSupport,
  ownCapabilities,
  PIDS_LIMIT,
  signalNumber,
  type UserRange,
} from "../../runtime/index.ts";
import { ContainerConfigError } from "./config-error.ts";
import { containerID } from "./container-id.ts";
import { BASE_VARIABLES, containerEnvironment, expandField, expandList, hostnameOf } from "./environment.ts";
import type { Container, NodeFacts } from "./field-ref.ts";
import { refusedFields } from "./refused-fields.ts";

/** A path below one of a pod's volumes, for one mount of one of its containers. */
export interface SubPathPlace {
  container: string;
  /** Of the mount in the container. */
  index: number;
  /** Where the volume is on the machine. */
  volume: string;
  /** Below the volume. */
  path: string;
}

/** What a container's configuration is made from, besides its pod. */
interface ContainerSources {
  image: Image;
  store: ObjectStore;
  node: NodeFacts;
  /** Where each of the pod's volumes is on the machine. */
  volumes: ReadonlyMap<string, { path: string; readOnly: boolean }>;
  /** The ids of the machine that are the pod's, where it has users of its own. */
  users(): Promise<UserRange>;
  exec: Exec;
  /** Binds a path inside a volume to a place that no container can change, and returns that. */
  subPath(place: SubPathPlace): Promise<string>;
}

/**
 * Everything about a container that the runtime has to know. Throws a ContainerConfigError for what an operator must
 * repair.
 */
export async function containerConfig(
  sources: ContainerSources,
  pod: Pod,
  container: Container,
  attempt: number,
): Promise<ContainerConfig> {
  const { image } = sources;
  const machine = await machineSupport();
  const { controllers } = machine;
  // Labels of a node that change while a pod runs on it keep none of its containers from starting again.
  const refused = [
    ...refusedFields(pod, container, machine),
    ...(attempt === 0 ? await refusedPlace(sources, pod) : []),
  ];
  if (refused.length > 0) throw new ContainerConfigError(`cannot be honoured: ${refused.join("; ")}`);
  const env = await containerEnvironment(sources.store, pod, container, sources.node);
  const { uid = "", namespace = "", name } = pod.metadata;
  const { home, ...user } = await userOf(pod, container, image);
  const users = await usersOf(sources, pod, user);
  const appArmor = await appArmorOf(sources, pod, container);
  const stopSignal = stopSignalOf(container, image);
  return {
    id: containerID(pod, container.name, attempt),
    pod: { uid, namespace, name },
    name: container.name,
    attempt,
    ...rootOf(container, image),
    imageID: image.id,
    argv: argvOf(pod, container, image, env),
    env: {
      ...BASE_VARIABLES,
      HOSTNAME: hostnameOf(pod),
      HOME: home ?? (user.uid === 0 ? "/root" : "/"),
      ...imageVariables(image.config),
      ...env,
    },
    workingDir: container.workingDir || image.config.WorkingDir || "/",
    hostname: hostnameOf(pod),
    user,
    capabilities: capabilitiesOf(container),
    noNewPrivileges: container.securityContext?.allowPrivilegeEscalation === false,
    ...(seccompOf(pod, container) === "Unconfined" ? { seccomp: "unconfined" } : {}),
    resources: resourcesOf(container, controllers),
    mounts: await mountsOf(sources, pod, container, env),
    devices: await devicesOf(sources, container),
    ...defined({ stopSignal, users, appArmor }),
    terminationMessage: {
      path: container.terminationMessagePath || "/dev/termination-log",
      fromLog: container.terminationMessagePolicy === "FallbackToLogsOnError",
    },
  };
}

/** Who names a node goes past the scheduler. */
async function refusedPlace({ store, node }: ContainerSources, pod: Pod): Promise<string[]> {
  if (!selectsNodes(pod) || matchesPod(pod, await store.get(Nodes, { name: node.nodeName }))) return [];
  return [`spec.nodeName: node ${node.nodeName} didn't match Pod's node affinity/selector`];
}

function rootOf({ securityContext }: Container, { root }: Image): Pick<ContainerConfig, "image"> {
  if (root === undefined) return {};
  return { image: { root, readOnly: securityContext?.readOnlyRootFilesystem === true } };
}

function argvOf(
  pod: Pod,
  container: Container,
  image: Image,
  env: Readonly<Record<string, string>>,
): readonly string[] {
  const expanded = (field: "command" | "args") =>
    expandList(pod, container, { field, texts: container[field] }, env);
  const argv = programOf(image.config, expanded("command"), expanded("args"));
  if (argv.length > 0) return argv;
  throw new ContainerConfigError(
    `container "${container.name}" has no command: image ${image.id} has none of its own; set spec.containers[].command`,
  );
}

/** A pod's own field counts before the image's. */
function stopSignalOf({ lifecycle }: Container, { config }: Image): number | undefined {
  const asked = (lifecycle as { stopSignal?: string } | undefined)?.stopSignal || config.StopSignal;
  if (asked === undefined) return undefined;
  const number = signalNumber(asked);
  if (number === undefined)
    throw new ContainerConfigError(`the image is stopped by ${asked}, and Linux has no such signal`);
  return number;
}

type User = ContainerConfig["user"] & { home?: string };

async function userOf(pod: Pod, container: Container, image: Image): Promise<User> {
  const all = pod.spec?.securityContext ?? {};
  const own = container.securityContext ?? {};
  const asked = defined({ uid: own.runAsUser ?? all.runAsUser, gid: own.runAsGroup ?? all.runAsGroup });
  const { uid, gid, groups, home, named } = await userOfImage(image, asked);
  if ((own.runAsNonRoot ?? all.runAsNonRoot) === true && (uid === 0 || named)) {
    const why = named
      ? `its image's user "${image.config.User}" is a name, which may be that of root`
      : "would run as root";
    throw new ContainerConfigError(
      `container has runAsNonRoot and ${why}; set securityContext.runAsUser (pod: "${pod.metadata.name}", container: ${container.name})`,
    );
  }
  const strict = (all as { supplementalGroupsPolicy?: string }).supplementalGroupsPolicy === "Strict";
  const more = [...(all.supplementalGroups ?? []), ...(all.fsGroup === undefined ? [] : [all.fsGroup])];
  return {
    ...{ uid, gid },
    groups: [...new Set([...more, ...(strict ? [] : groups)])],
    ...defined({ home }),
  };
}

async function userOfImage(
  { root, config }: Image,
  asked: { uid?: number; gid?: number },
): Promise<ImageUser> {
  if (root === undefined) return { uid: asked.uid ?? 0, gid: asked.gid ?? 0, groups: [], named: false };
  try {
    return await imageUser(root, config.User ?? "", asked);
  } catch (error) {
    throw new ContainerConfigError(error instanceof Error ? error.message : String(error));
  }
}

/** The range of user ids of a pod with a user namespace; refused where the container needs ids beyond it. */
async function usersOf(
  sources: ContainerSources,
  pod: Pod,
  { uid, gid, groups }: ContainerConfig["user"],
): Promise<UserRange | undefined> {
  if (pod.spec?.hostUsers !== false) return undefined;
  const users = await sources.users();
  const beyond = [uid, gid, ...groups].find((id) => id >= users.size);
  if (beyond === undefined) return users;
  throw new ContainerConfigError(
    `spec.hostUsers: user or group ${beyond} is none of the ${users.size} that a user namespace has; take a smaller id, or hostUsers: true`,
  );
}

async function appArmorOf(
  { exec }: ContainerSources,
  pod: Pod,
  { securityContext }: Container,
): Promise<string | undefined> {
  const profile = securityContext?.appArmorProfile ?? pod.spec?.securityContext?.appArmorProfile;
  if (profile?.type === "Localhost") return profile.localhostProfile;
  if (profile?.type !== "RuntimeDefault") return undefined;
  await loadDefaultProfile(exec);
  return DEFAULT_PROFILE;
}

/** In containerd's order: ALL is added, then dropped, then what is named is added, then dropped. A drop wins. */
export function capabilitiesOf({ securityContext }: Container): string[] {
  const { add, drop } = securityContext?.capabilities ?? {};
  const named = (list: readonly string[] | undefined) =>
    (list ?? []).map((name) => name.replace(/^CAP_/, ""));
  const [added, dropped] = [named(add), named(drop)];
  const most = added.includes("ALL") ? ownCapabilities() : DEFAULT_CAPABILITIES;
  const kept = dropped.includes("ALL") ? [] : most;
  const all = [...kept, ...added.filter((name) => name !== "ALL")];
  return [...new Set(all)].filter((name) => !dropped.includes(name));
}

function seccompOf(pod: Pod, { securityContext }: Container): string {
  const profile = securityContext?.seccompProfile ?? pod.spec?.securityContext?.seccompProfile;
  return profile?.type ?? "RuntimeDefault";
}

function resourcesOf(
  { resources }: Container,
  controllers: ReadonlySet<string>,
): NonNullable<ContainerConfig["resources"]> {
  const { limits = {}, requests = {} } = resources ?? {};
  const milli = (value: string | number) => Number(parseMilli(String(value)));
  return {
    ...(limits.memory === undefined ? {} : { memoryBytes: Number(parseQuantity(String(limits.memory))) }),
    ...(limits.cpu === undefined ? {} : { cpuLimitMilli: milli(limits.cpu) }),
    ...(requests.cpu === undefined || !controllers.has("cpu")
      ? {}
      : { cpuRequestMilli: milli(requests.cpu) }),
    ...(controllers.has("pids") ? { pids: PIDS_LIMIT } : {}),
  };
}

async function mountsOf(
  sources: ContainerSources,
  pod: Pod,
  container: Container,
  env: Readonly<Record<string, string>>,
): Promise<ContainerMount[]> {
  const mounts: ContainerMount[] = [];
  for (const [index, mount] of (container.volumeMounts ?? []).entries()) {
    const volume = sources.volumes.get(mount.name);
    if (volume === undefined)
      throw new ContainerConfigError(`volume "${mount.name}" is not a volume of pod ${pod.metadata.name}`);
    if (isOfClaim(pod, mount.name) && (await stat(volume.path)).isBlockDevice())
      throw new ContainerConfigError(
        `volume "${mount.name}" has volumeMode Block, but is specified in volumeMounts; use volumeDevices, or a claim with volumeMode Filesystem`,
      );
    const inside = insideOf(pod, container, index, env);
    const source =
      inside === ""
        ? volume.path
        : await sources.subPath({ container: container.name, index, volume: volume.path, path: inside });
    mounts.push({
      source,
      target: mount.mountPath.startsWith("/") ? mount.mountPath : join("/", mount.mountPath),
      readOnly: mount.readOnly === true || volume.readOnly,
    });
  }
  return mounts;
}

/** The path below its volume. */
function insideOf(
  pod: Pod,
  container: Container,
  index: number,
  env: Readonly<Record<string, string>>,
): string {
  const { subPath = "", subPathExpr } = container.volumeMounts?.[index] ?? {};
  if (subPathExpr === undefined) return subPath;
  return expandField(pod, container, { field: `volumeMounts[${index}].subPathExpr`, text: subPathExpr }, env);
}

/** A device of the machine (`hostPath`) may be mounted as a file. */
function isOfClaim({ spec }: Pod, volume: string): boolean {
  const found = spec?.volumes?.find(({ name }) => name === volume);
  return found?.persistentVolumeClaim !== undefined || found?.ephemeral !== undefined;
}

async function devicesOf(sources: ContainerSources, container: Container): Promise<ContainerDevice[]> {
  const devices: ContainerDevice[] = [];
  for (const { name, devicePath } of container.volumeDevices ?? []) {
    const source = sources.volumes.get(name)?.path;
    if (source === undefined || !(await stat(source)).isBlockDevice()) {
      throw new ContainerConfigError(
        `volume "${name}" is no block device; use volumeMounts, or a claim with volumeMode Block`,
      );
    }
    devices.push({ source, target: devicePath });
  }
  return devices;
}
