import assert from "node:assert/strict";
import { test } from "node:test";
import type { ObjectStore, Pod } from "@mooring/store";
import { containerEnvironment } from "../pods/environment.ts";
import type { PodVolume } from "./csi-volume.ts";
import { type ProjectedContext, projectedFilesOf } from "./projected-sources.ts";

const MEBI = 1024 * 1024;
const NODE = { nodeName: "n", address: "127.0.0.1", allocatable: {} };

/** Any ConfigMap, of a megabyte each, and by name how often it was read. */
function largeObjects() {
  const reads = new Map<string, number>();
  const get = async (_resource: unknown, { name }: { name: string }) => {
    reads.set(name, (reads.get(name) ?? 0) + 1);
    return { metadata: { name }, data: { key: "x".repeat(MEBI) } };
  };
  const context = { store: { get } as unknown as ObjectStore, node: NODE } as ProjectedContext;
  return { context, reads };
}

/** A pod whose annotations say how often all of them were read. */
function podWithAnnotations() {
  let reads = 0;
  const annotations = new Proxy<Record<string, string>>(
    { note: "x".repeat(1000) },
    {
      ownKeys(target) {
        reads++;
        return Reflect.ownKeys(target);
      },
    },
  );
  const pod: Pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace: "default", annotations },
    spec: { containers: [{ name: "main", image: "host" }] },
  };
  return { pod, reads: () => reads };
}

type Sources = NonNullable<NonNullable<PodVolume["projected"]>["sources"]>;
const projected = (sources: Sources): PodVolume => ({ name: "all", projected: { sources } });

test("an object that many sources of a volume name is read once", async () => {
  const { context, reads } = largeObjects();
  const sources = Array.from({ length: 180 }, (_, at) => ({
    configMap: { name: "large", items: [{ key: "key", path: `${at % 10}` }] },
  }));
  const files = await projectedFilesOf(context, podWithAnnotations().pod, projected(sources));
  assert.equal(files.size, 10);
  assert.deepEqual([...reads], [["large", 1]]);
});

test("a volume has no more files than the agent can have in its memory", async () => {
  const { context } = largeObjects();
  const sources = (count: number, path: (at: number) => string) =>
    Array.from({ length: count }, (_, at) => ({
      configMap: { name: `map-${at}`, items: [{ key: "key", path: path(at) }] },
    }));
  const { pod } = podWithAnnotations();
  await assert.rejects(projectedFilesOf(context, pod, projected(sources(33, String))), {
    message: /^volume "all": its files have more than 33554432 bytes together; put what is large into a/,
  });
  assert.equal((await projectedFilesOf(context, pod, projected(sources(32, String)))).size, 32);
  // Those with one path take each other's place.
  assert.equal((await projectedFilesOf(context, pod, projected(sources(40, () => "one")))).size, 1);
});

test("what many files and variables have of the pod's annotations is made once for each volume and container", async () => {
  const { context } = largeObjects();
  const fieldRef = { fieldPath: "metadata.annotations" };
  const times = Array.from({ length: 100 }, (_, at) => `V${at}`);
  const inFiles = podWithAnnotations();
  const items = times.map((path) => ({ path, fieldRef }));
  const files = await projectedFilesOf(context, inFiles.pod, { name: "info", downwardAPI: { items } });
  assert.deepEqual([files.size, inFiles.reads()], [100, 1]);
  const inVariables = podWithAnnotations();
  const container = {
    ...{ name: "main", image: "host" },
    env: times.map((name) => ({ name, valueFrom: { fieldRef } })),
  };
  const variables = await containerEnvironment(context.store, inVariables.pod, container, NODE);
  assert.deepEqual([Object.keys(variables).length, inVariables.reads()], [100, 1]);
});

test("a file with what a container may have is not empty where there is no such container", async () => {
  const { context } = largeObjects();
  const init = { name: "init", image: "host", resources: { limits: { memory: "1Mi" } } };
  const spec = { initContainers: [init], containers: [{ name: "main", image: "host" }] };
  const pod: Pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "p", namespace: "default" }, spec };
  const read = async (containerName: string) => {
    const resourceFieldRef = { containerName, resource: "limits.memory" };
    const files = await projectedFilesOf(context, pod, {
      name: "v",
      downwardAPI: { items: [{ path: "a", resourceFieldRef }] },
    });
    return files.get("a")?.data.toString();
  };
  assert.equal(await read("init"), String(MEBI));
  for (const name of ["none", ""])
    await assert.rejects(read(name), { message: `resourceFieldRef: container "${name}" is not in the pod` });
});
