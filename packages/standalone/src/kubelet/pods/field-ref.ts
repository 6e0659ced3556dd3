import { type Pod, parseMilli, parseQuantity } from "@mooring/store";

/** A container of a pod's spec. */
export type Container = NonNullable<Pod["spec"]>["containers"][number];

/** Facts about the node that a pod may ask for. */
export interface NodeFacts {
  nodeName: string;
  address: string;
  allocatable: Readonly<Record<string, string>>;
}

type Reader = (pod: Pod, node: NodeFacts) => string;

const FIELDS: Readonly<Record<string, Reader>> = {
  "metadata.name": ({ metadata }) => metadata.name,
  "metadata.namespace": ({ metadata }) => metadata.namespace ?? "",
  "metadata.uid": ({ metadata }) => metadata.uid ?? "",
  "metadata.labels": ({ metadata }) => pairs(metadata.labels),
  "metadata.annotations": ({ metadata }) => pairs(metadata.annotations),
  "spec.nodeName": (_, node) => node.nodeName,
  "spec.serviceAccountName": ({ spec }) => spec?.serviceAccountName ?? "",
  "status.hostIP": (_, node) => node.address,
  "status.hostIPs": (_, node) => node.address,
  "status.podIP": (_, node) => node.address,
  "status.podIPs": (_, node) => node.address,
};

/** The text of a downward API field: `metadata.labels['app']`, `status.hostIP`. Throws on an unknown path. */
export function readField(path: string, pod: Pod, node: NodeFacts): string {
  const entry = /^metadata\.(labels|annotations)\['(.*)'\]$/.exec(path);
  if (entry !== null) return pod.metadata[entry[1] as "labels" | "annotations"]?.[entry[2] ?? ""] ?? "";
  const read = FIELDS[path];
  if (read === undefined) throw new Error(`unsupported fieldPath "${path}"`);
  return read(pod, node);
}

/** The same of one pod: what many places ask for is made once. */
export class PodFields {
  readonly #pod: Pod;
  readonly #node: NodeFacts;
  readonly #read = new Map<string, string>();

  constructor(pod: Pod, node: NodeFacts) {
    this.#pod = pod;
    this.#node = node;
  }

  read(path: string): string {
    const text = this.#read.get(path) ?? readField(path, this.#pod, this.#node);
    this.#read.set(path, text);
    return text;
  }
}

function pairs(map: Readonly<Record<string, string>> = {}): string {
  return Object.keys(map)
    .sort()
    .map((key) => `${key}=${JSON.stringify(map[key])}`)
    .join("\n");
}

interface ResourceReference {
  resource: string;
  divisor?: string | number;
  containerName?: string;
}

/**
 * `limits.memory` and the like, in units of the divisor, rounded up. Without a limit: what the node has. Of the container that is
 * named, else of this one. Throws when there is none.
 */
export function readResource(
  reference: ResourceReference,
  of: { pod: Pod; container?: Container },
  node: NodeFacts,
): string {
  const container = containerOf(reference, of);
  const [kind, name = ""] = splitOnce(reference.resource);
  const { limits = {}, requests = {} } = container.resources ?? {};
  const set = kind === "requests" ? requests[name] : limits[name];
  const fallback = kind === "requests" ? (limits[name] ?? "0") : (node.allocatable[name] ?? "0");
  const quantity = String(set ?? fallback);
  const divisor = String(reference.divisor ?? "1");
  const unit = divisor === "0" ? "1" : divisor;
  const [value, per] =
    name === "cpu"
      ? [parseMilli(quantity), parseMilli(unit)]
      : [parseQuantity(quantity), parseQuantity(unit)];
  return String((value + per - 1n) / per);
}

function containerOf(
  { containerName = "" }: ResourceReference,
  { pod, container }: { pod: Pod; container?: Container },
): Container {
  const all = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])];
  const found = containerName === "" ? container : all.find(({ name }) => name === containerName);
  if (found === undefined)
    throw new Error(`resourceFieldRef: container "${containerName}" is not in the pod`);
  return found;
}

function splitOnce(text: string): [string, string | undefined] {
  const dot = text.indexOf(".");
  return dot < 0 ? [text, undefined] : [text.slice(0, dot), text.slice(dot + 1)];
}
