import type { UnstructuredObject } from "@mooring/store";

type Fields = Record<string, unknown>;

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A field that is an object; empty when it is none. */
export const fieldsOf = (value: unknown, name: string): Fields => {
  const found = isFields(value) ? value[name] : undefined;
  return isFields(found) ? found : {};
};

/** A field that is a list, its objects only. */
export const listOf = (value: unknown, name: string): Fields[] => {
  const found = isFields(value) ? value[name] : undefined;
  return Array.isArray(found) ? found.filter(isFields) : [];
};

/** A field that is a list, its strings only. */
export const textsOf = (value: unknown, name: string): string[] => {
  const found = isFields(value) ? value[name] : undefined;
  return Array.isArray(found) ? found.map(String) : [];
};

/** A container of any role, as the rules read it. */
export interface PodContainer {
  name: string;
  fields: Fields;
  security: Fields;
}

/** What the controls read. */
export interface PodFacts {
  spec: Fields;
  annotations: Fields;
  /** `spec.securityContext` */
  security: Fields;
  /** Of all three lists, init containers first. */
  containers: readonly PodContainer[];
  windows: boolean;
  /** It has user ids of its own: its root is no user of the node. */
  ownUsers: boolean;
}

/** What the rules read of a pod. */
export function factsOf(pod: UnstructuredObject): PodFacts {
  const spec = fieldsOf(pod, "spec");
  const containers = ["initContainers", "containers", "ephemeralContainers"].flatMap((field) =>
    listOf(spec, field).map((fields) => ({
      name: String(fields.name),
      fields,
      security: fieldsOf(fields, "securityContext"),
    })),
  );
  return {
    spec,
    annotations: fieldsOf(pod.metadata, "annotations"),
    security: fieldsOf(spec, "securityContext"),
    containers,
    windows: fieldsOf(spec, "os").name === "windows",
    ownUsers: spec.hostUsers === false,
  };
}

const quoted = (names: readonly string[]) => names.map((name) => JSON.stringify(name)).join(", ");
const unique = (names: readonly string[]) => [...new Set(names)];

/** `1 thing "a"`, or `things "a", "b"`. */
export function named(noun: string, names: readonly string[]): string {
  const all = unique(names);
  return `${noun}${all.length === 1 ? "" : "s"} ${quoted(all)}`;
}

/** The containers as text, for a message. */
export const containerNames = (containers: readonly PodContainer[]): string =>
  named(
    "container",
    containers.map(({ name }) => name),
  );

export { quoted, unique };
