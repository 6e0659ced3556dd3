import { ConfigMaps, isNotFound, type ObjectStore, type Pod, Secrets } from "@mooring/store";
import { expandVariables } from "./expand-variables.ts";
import { type Container, type NodeFacts, readField, readResource } from "./field-ref.ts";

/** What every container gets before its image's and its own variables. */
export const BASE_VARIABLES = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" };

type EnvVar = NonNullable<Container["env"]>[number];
type EnvFrom = NonNullable<Container["envFrom"]>[number];

/** Something that the pod refers to is not there (yet); Kubernetes calls it CreateContainerConfigError. */
export class ContainerConfigError extends Error {
  override readonly name = "ContainerConfigError";
}

/** A container's variables: envFrom first, then env in order; a later one wins and may refer to earlier ones. */
export async function containerEnvironment(
  store: ObjectStore,
  pod: Pod,
  container: Container,
  node: NodeFacts,
): Promise<Record<string, string>> {
  const env: Record<string, string> = {};
  const namespace = pod.metadata.namespace ?? "";
  for (const from of container.envFrom ?? []) {
    const entries = await readAll(store, namespace, from);
    for (const [key, value] of Object.entries(entries)) env[`${from.prefix ?? ""}${key}`] = value;
  }
  for (const variable of container.env ?? []) {
    const value = await variableValue(store, { pod, container }, variable, node);
    if (value !== undefined)
      env[variable.name] = variable.value === undefined ? value : expandVariables(value, env);
  }
  return env;
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
