import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMaps, type ObjectStore, type Pod } from "@mooring/store";
import { containerEnvironment, expandList } from "./environment.ts";
import type { Container } from "./field-ref.ts";

const MEBI = 1024 * 1024;
const NODE = { nodeName: "n", address: "127.0.0.1", allocatable: {} };

/** A store with one ConfigMap, of a megabyte. */
const store = {
  get: async (resource: unknown) => {
    assert.equal(resource, ConfigMaps);
    return { metadata: { name: "large" }, data: { key: "x".repeat(MEBI) } };
  },
} as unknown as ObjectStore;

function asking(container: Partial<Container>): [Pod, Container] {
  const main: Container = { name: "main", image: "host", ...container };
  const spec = { containers: [{ name: "first", image: "host" }, main] };
  return [{ apiVersion: "v1", kind: "Pod", metadata: { name: "p", namespace: "default" }, spec }, main];
}

const environment = (container: Partial<Container>) =>
  containerEnvironment(store, ...asking(container), NODE);

const doubled = (count: number) => [
  { name: "V0", value: "x".repeat(100) },
  ...Array.from({ length: count }, (_, at) => ({ name: `V${at + 1}`, value: `$(V${at})$(V${at})` })),
];

test("variables that double each other are refused with their path before they fill the memory", async () => {
  const refused =
    /^cannot be honoured: spec\.containers\[1\]\.env\[11\]\.value: longer than 131072 characters/;
  await assert.rejects(environment({ env: doubled(22) }), ({ name, message }: Error) => {
    assert.equal(name, "ContainerConfigError");
    assert.match(message, refused);
    return true;
  });
  assert.equal((await environment({ env: doubled(10) })).V10?.length, 102_400);
});

test("variables have together no more than a program can have", async () => {
  const many = Array.from({ length: 1_000 }, (_, at) => ({ name: `M${at}`, value: "$(V10)" }));
  const refused = /^cannot be honoured: spec\.containers\[1\]\.env: more than 6291456 characters together/;
  await assert.rejects(environment({ env: [...doubled(10), ...many] }), { message: refused });
  const from = (count: number, prefix: (at: number) => string) =>
    Array.from({ length: count }, (_, at) => ({ prefix: prefix(at), configMapRef: { name: "large" } }));
  await assert.rejects(environment({ envFrom: from(10, (at) => `P${at}_`) }), { message: refused });
  // The same name again takes the place of what it was.
  assert.deepEqual(Object.keys(await environment({ envFrom: from(10, () => "") })), ["key"]);
});

test("so have arguments", () => {
  const variables = { A: "x".repeat(100_000) };
  const expand = (texts: string[]) =>
    expandList(...asking({ args: texts }), { field: "args", texts }, variables);
  assert.throws(() => expand(["$(A)", "$(A)$(A)"]), {
    message: /spec\.containers\[1\]\.args\[1\]: longer than/,
  });
  const most = Array.from({ length: 100 }, () => "$(A)");
  assert.throws(() => expand(most), { message: /spec\.containers\[1\]\.args: more than/ });
  // Escapes make a text shorter: what counts is what comes of it.
  assert.deepEqual(expand(["$$".repeat(100_000)]), ["$".repeat(100_000)]);
});

test("a variable has what another container may have, where it names that", async () => {
  const [pod, main] = asking({});
  const first = { name: "first", image: "host", resources: { limits: { memory: "2Mi" } } };
  const spec = { initContainers: [first], containers: [main] };
  const ask = (containerName: string) => ({
    name: "A",
    valueFrom: { resourceFieldRef: { containerName, resource: "limits.memory" } },
  });
  const read = (containerName: string) =>
    containerEnvironment(store, { ...pod, spec }, { ...main, env: [ask(containerName)] }, NODE);
  assert.deepEqual(await read("first"), { A: String(2 * MEBI) });
  await assert.rejects(read("none"), { message: 'resourceFieldRef: container "none" is not in the pod' });
});
