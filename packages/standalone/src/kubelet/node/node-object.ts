import type { Node } from "@mooring/store";

type Condition = NonNullable<NonNullable<Node["status"]>["conditions"]>[number];

/** What the machine is. */
export interface MachineFacts {
  nodeName: string;
  hostname: string;
  /** The pods', too: they share the machine's network. */
  address: string;
  architecture: string;
  kernelVersion: string;
  osImage: string;
  bootID: string;
  machineID: string;
  cpus: number;
  memoryBytes: number;
  diskBytes: number;
}

/** What an operator wants of the Node object beside what the machine is. */
export interface NodeSettings {
  /** Set again at every start. */
  labels?: Readonly<Record<string, string>>;
  /** Only when the Node is made: an administrator who removes one later has done so on purpose. */
  taints?: NonNullable<NonNullable<Node["spec"]>["taints"]>;
}

/** Pods that fit on the machine as far as Kubernetes' bookkeeping goes; what they really need decides before that. */
const MAX_PODS = 1000;
const VERSION = "v1.35.0-mooring";

/** The labels that every node has of itself. */
export function nodeLabels(facts: MachineFacts): Record<string, string> {
  return {
    "kubernetes.io/hostname": facts.nodeName,
    "kubernetes.io/os": "linux",
    "kubernetes.io/arch": facts.architecture,
  };
}

/** Capacity of the machine, as quantities. */
export function resourcesOf(facts: MachineFacts): Record<string, string> {
  return {
    cpu: String(facts.cpus),
    memory: `${Math.floor(facts.memoryBytes / 1024)}Ki`,
    "ephemeral-storage": `${Math.floor(facts.diskBytes / 1024)}Ki`,
    pods: String(MAX_PODS),
  };
}

/** What the kubelet has found of its node. */
export interface NodeFindings {
  ready: Omit<Condition, "type" | "lastHeartbeatTime">;
  /** Why the node's disks are under pressure; absent: they are not. */
  diskPressure?: string;
}

/** The status that the kubelet keeps; what others keep in it (volumes in use and attached) stays. */
export function nodeStatus(
  old: Node["status"],
  facts: MachineFacts,
  { ready, diskPressure }: NodeFindings,
  now: string,
): NonNullable<Node["status"]> {
  const resources = resourcesOf(facts);
  return {
    ...old,
    capacity: resources,
    allocatable: resources,
    addresses: [
      { type: "InternalIP", address: facts.address },
      { type: "Hostname", address: facts.hostname },
    ],
    nodeInfo: {
      architecture: facts.architecture,
      bootID: facts.bootID,
      containerRuntimeVersion: "mooring://0.1.0",
      kernelVersion: facts.kernelVersion,
      kubeProxyVersion: "",
      kubeletVersion: VERSION,
      machineID: facts.machineID,
      operatingSystem: "linux",
      osImage: facts.osImage,
      systemUUID: facts.machineID,
    },
    conditions: [
      condition(old, { ...ENOUGH_MEMORY, status: "False" }, now),
      condition(old, diskCondition(diskPressure), now),
      condition(old, { ...ENOUGH_PIDS, status: "False" }, now),
      condition(old, { type: "Ready", ...ready }, now),
    ],
  };
}

const ENOUGH_MEMORY = {
  type: "MemoryPressure",
  reason: "KubeletHasSufficientMemory",
  message: "kubelet has sufficient memory available",
};
const ENOUGH_PIDS = {
  type: "PIDPressure",
  reason: "KubeletHasSufficientPID",
  message: "kubelet has sufficient PID available",
};

function diskCondition(pressure: string | undefined): Omit<Condition, "lastHeartbeatTime"> {
  const type = "DiskPressure";
  return pressure === undefined
    ? { type, status: "False", reason: "KubeletHasNoDiskPressure", message: "kubelet has no disk pressure" }
    : { type, status: "True", reason: "KubeletHasDiskPressure", message: pressure };
}

function condition(old: Node["status"], next: Omit<Condition, "lastHeartbeatTime">, now: string): Condition {
  const before = (old?.conditions ?? []).find(({ type }) => type === next.type);
  const since = before?.status === next.status ? (before.lastTransitionTime ?? now) : now;
  return { ...next, lastHeartbeatTime: now, lastTransitionTime: since };
}
