import { ConfigMaps, isNotFound, type ObjectStore, type Pod, Secrets } from "@mooring/store";
import { expandVariables } from "./expand-variables.ts";
import { type Container, type NodeFacts, readField, readResource } from "./field-ref.ts";
import { pathOf } from "./refused-fields.ts";

/** What every container gets before its image's and its own variables. */
export const BASE_VARIABLES = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" };

type EnvVar = NonNullable<Container["env"]>[number];
type EnvFrom = NonNullable<Container["envFrom"]>[number];

/** Something that the pod refers to is not there (yet); Kubernetes calls it CreateContainerConfigError. */
export class ContainerConfigError extends Error {
  override readonly name = "ContainerConfigError";
}

/** Linux gives a program no more than so many bytes, its arguments and its variables together. */
const MOST_TOGETHER = 6 * 1024 * 1024;

/** A container's variables: envFrom first, then env in order; a later one wins and may refer to earlier ones. */
export async function containerEnvironment(
  store: ObjectStore,
  pod: Pod,
  container: Container,
  node: NodeFacts,
): Promise<Record<string, string>> {
  const env = new Variables(pod, container);
  const namespace = pod.metadata.namespace ?? "";
  for (const from of container.envFrom ?? []) {
    const entries = await readAll(store, namespace, from);
    for (const [key, value] of Object.entries(entries)) env.set(`${from.prefix ?? ""}${key}`, value);
  }
  for (const [index, variable] of (container.env ?? []).entries()) {
    const value = await variableValue(store, { pod, container }, variable, node);
    if (value === undefined) continue;
    const plain = variable.value === undefined;
    env.set(variable.name, plain ? value : env.expand(`env[${index}].value`, value));
  }
  return env.all;
}

/** No more of them than a program can be started with: others decide how many there are, and how long each becomes. */
class Variables {
  readonly all: Record<string, string> = {};
  readonly #pod: Pod;
  readonly #container: Container;
  #length = 0;

  constructor(pod: Pod, container: Container) {
    this.#pod = pod;
    this.#container = container;
  }

  set(name: string, value: string): void {
    const before = Object.hasOwn(this.all, name) ? name.length + (this.all[name] ?? "").length : 0;
    this.#length += name.length + value.length - before;
    if (this.#length > MOST_TOGETHER) throw tooLong(this.#pod, this.#container, "env");
    this.all[name] = value;
  }

  expand(field: string, text: string): string {
    return expandField(this.#pod, this.#container, { field, text }, this.all);
  }
}

/** The text of a field of the container with its references replaced. Refused with its path where it gets too long. */
export function expandField(
  pod: Pod,
  container: Container,
  { field, text }: { field: string; text: string },
  variables: Readonly<Record<string, string>>,
): string {
  try {
    return expandVariables(text, variables);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw refusedField(pod, container, `${field}: ${error.message}`);
  }
}

/** The same for a list of texts, none of which is made when all of them are too long together. */
export function expandList(
  pod: Pod,
  container: Container,
  { field, texts }: { field: string; texts: readonly string[] | undefined },
  variables: Readonly<Record<string, string>>,
): string[] {
  let length = 0;
  return (texts ?? []).map((text, index) => {
    const expanded = expandField(pod, container, { field: `${field}[${index}]`, text }, variables);
    length += expanded.length;
    if (length > MOST_TOGETHER) throw tooLong(pod, container, field);
    return expanded;
  });
}

function tooLong(pod: Pod, container: Container, field: string): ContainerConfigError {
  const why = `more than ${MOST_TOGETHER} characters together, which is the most that Linux gives a program`;
  return refusedField(pod, container, `${field}: ${why}`);
}

function refusedField({ spec }: Pod, container: Container, why: string): ContainerConfigError {
  const path = spec === undefined ? container.name : pathOf(spec, container);
  return new ContainerConfigError(`cannot be honoured: ${path}.${why}`);
}

/** What the pod's containers see as their host name. */
export function hostnameOf(pod: Pod): string {
  return (pod.spec?.hostname || pod.metadata.name).slice(0, 63).replace(/[-.]+$/, "");
}

async function variableValue(
  store: ObjectStore,
  { pod, container }: { pod: Pod; container: Container },
  { value, valueFrom }: EnvVar,
  node: NodeFacts,
): Promise<string | undefined> {
  if (valueFrom === undefined) return value ?? "";
  const namespace = pod.metadata.namespace ?? "";
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef } = valueFrom;
  if (fieldRef !== undefined) return readField(fieldRef.fieldPath, pod, node);
  if (resourceFieldRef !== undefined)
    return readResource(
      { ...resourceFieldRef, divisor: String(resourceFieldRef.divisor ?? "1") },
      container,
      node,
    );
  const reference = configMapKeyRef ?? secretKeyRef;
  if (reference === undefined) return "";
  const read = configMapKeyRef === undefined ? secretEntries : configMapEntries;
  const entries = await read(store, namespace, reference.name ?? "", reference.optional === true);
  const found = Object.hasOwn(entries, reference.key) ? entries[reference.key] : undefined;
  if (found !== undefined || reference.optional === true) return found?.toString("utf8");
  const kind = configMapKeyRef === undefined ? "Secret" : "ConfigMap";
  throw new ContainerConfigError(
    `couldn't find key ${reference.key} in ${kind} ${namespace}/${reference.name}`,
  );
}

async function readAll(
  store: ObjectStore,
  namespace: string,
  from: EnvFrom,
): Promise<Record<string, string>> {
  const { configMapRef, secretRef } = from;
  const reference = configMapRef ?? secretRef;
  if (reference === undefined) return {};
  const read = configMapRef === undefined ? secretEntries : configMapEntries;
  const entries = await read(store, namespace, reference.name ?? "", reference.optional === true);
  return Object.fromEntries(Object.entries(entries).map(([key, value]) => [key, value.toString("utf8")]));
}

/** All entries of a ConfigMap; none when it is optional and missing. */
export async function configMapEntries(
  store: ObjectStore,
  namespace: string,
  name: string,
  optional: boolean,
): Promise<Record<string, Buffer>> {
  const map = await orMissing(store.get(ConfigMaps, { namespace, name }), "configmap", name, optional);
  return {
    ...decode(map?.data, "utf8"),
    ...decode(map?.binaryData, "base64"),
  };
}

/** The entries of a Secret, decoded. None where it is absent and `optional`; else throws what keeps the container waiting. */
export async function secretEntries(
  store: ObjectStore,
  namespace: string,
  name: string,
  optional: boolean,
): Promise<Record<string, Buffer>> {
  const secret = await orMissing(store.get(Secrets, { namespace, name }), "secret", name, optional);
  return decode(secret?.data, "base64");
}

function decode(
  data: Record<string, string> | undefined,
  encoding: "utf8" | "base64",
): Record<string, Buffer> {
  return Object.fromEntries(
    Object.entries(data ?? {}).map(([key, value]) => [key, Buffer.from(value, encoding)]),
  );
}

async function orMissing<T>(
  wanted: Promise<T>,
  kind: string,
  name: string,
  optional: boolean,
): Promise<T | undefined> {
  try {
    return await wanted;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    if (optional) return undefined;
    throw new ContainerConfigError(`${kind} "${name}" not found`);
  }
}
