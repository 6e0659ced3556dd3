import { nextSlice, type ObjectStore, type Pod, sliceLasts } from "@mooring/store";
import { ContainerConfigError } from "./config-error.ts";
import { expandVariables } from "./expand-variables.ts";
import { type Container, type NodeFacts, PodFields, readResource } from "./field-ref.ts";
import { type Entries, ObjectEntries } from "./object-entries.ts";
import { pathOf } from "./refused-fields.ts";

/** What every container gets before its image's and its own variables. */
export const BASE_VARIABLES = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" };

type EnvVar = NonNullable<Container["env"]>[number];
type EnvFrom = NonNullable<Container["envFrom"]>[number];

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
  const objects = new ObjectEntries(store, namespace);
  const sources = { pod, container, namespace, node, objects, fields: new PodFields(pod, node) };
  for (const from of container.envFrom ?? []) {
    const entries = await readAll(objects, from);
    for (const [key, value] of Object.entries(entries))
      env.set(`${from.prefix ?? ""}${key}`, value.toString("utf8"));
  }
  for (const [index, variable] of (container.env ?? []).entries()) {
    // Each may be long, and there may be many: others decide both.
    if (!sliceLasts()) await nextSlice();
    const value = await variableValue(sources, variable);
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

interface Sources {
  pod: Pod;
  container: Container;
  namespace: string;
  node: NodeFacts;
  objects: ObjectEntries;
  fields: PodFields;
}

async function variableValue(
  { pod, container, namespace, node, objects, fields }: Sources,
  { value, valueFrom }: EnvVar,
): Promise<string | undefined> {
  if (valueFrom === undefined) return value ?? "";
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef } = valueFrom;
  if (fieldRef !== undefined) return fields.read(fieldRef.fieldPath);
  if (resourceFieldRef !== undefined) return readResource(resourceFieldRef, { pod, container }, node);
  const reference = configMapKeyRef ?? secretKeyRef;
  if (reference === undefined) return "";
  const { key, name = "", optional = false } = reference;
  const entries = await (configMapKeyRef === undefined
    ? objects.secret(name, optional)
    : objects.configMap(name, optional));
  const found = Object.hasOwn(entries, key) ? entries[key] : undefined;
  if (found !== undefined || optional) return found?.toString("utf8");
  const kind = configMapKeyRef === undefined ? "Secret" : "ConfigMap";
  throw new ContainerConfigError(`couldn't find key ${key} in ${kind} ${namespace}/${name}`);
}

async function readAll(objects: ObjectEntries, { configMapRef, secretRef }: EnvFrom): Promise<Entries> {
  if (configMapRef !== undefined)
    return objects.configMap(configMapRef.name ?? "", configMapRef.optional === true);
  return secretRef === undefined ? {} : objects.secret(secretRef.name ?? "", secretRef.optional === true);
}
