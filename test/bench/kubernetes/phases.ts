import { createInformer, defined, type KubeObject, type ObjectStore, type Resource } from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { load, type Measurement } from "../measure.ts";
import type { BenchCluster } from "./cluster.ts";
import { figures } from "./figures.ts";
import { IN_FLIGHT } from "./sizes.ts";

/** Objects of a kind, and what shows that they are as the bench wants them. */
interface Phase<T extends KubeObject, Result extends KubeObject> {
  name: string;
  resource: Resource<T>;
  objects: readonly KubeObject[];
  /** Objects of this kind show which are done. */
  results: Resource<Result>;
  /** The name of the one that is done by this; undefined: none. */
  doneBy(result: Result): string | undefined;
  /** What of it is not the control plane's to do, and has to be over before all is counted. */
  settled?(store: ObjectStore): Promise<void>;
  /** How many writes one may cost. */
  limit: number;
  /** MiB that the control plane may have at rest afterwards. */
  resident?: number;
}

/** Makes the objects, waits until all are done and no client sends requests any more, and says what that cost. */
export async function measure<T extends KubeObject, Result extends KubeObject>(
  cluster: BenchCluster,
  { name, resource, objects, results, doneBy, settled, ...most }: Phase<T, Result>,
): Promise<Measurement[]> {
  const { store, audit } = cluster;
  const names = new Set(objects.map(({ metadata }) => metadata.name));
  // Lists again and again would be much of what the server does.
  const watching = new AbortController();
  const watched = createInformer(store, results, {});
  const watch = watched.run(watching.signal);
  watched.onChange((_, result) => names.delete((result && doneBy(result)) ?? ""));
  await watched.synced(watching.signal);
  await quiet(cluster);
  await audit.take();
  const [before, from] = [await cluster.processor(), performance.now()];
  await load(objects.length, IN_FLIGHT, (index) => store.create(resource, objects[index] as T));
  await eventually(name, async () => names.size === 0, { everyMs: 20, withinMs: 600_000 });
  const seconds = (performance.now() - from) / 1000;
  watching.abort();
  await watch;
  await settled?.(store);
  await quiet(cluster);
  return figures(cluster, { ...most, reads: 0, name, count: objects.length, seconds, before });
}

/** Objects that are to go, with what was made for them. */
interface Deletion<T extends KubeObject> {
  name: string;
  resource: Resource<T>;
  /** When none of these is left, it is done. */
  last: Resource;
}

/** Deletes all objects of a kind, waits until the last of what was made for them is gone, and says what that cost. */
export async function measureDeletion<T extends KubeObject>(
  cluster: BenchCluster,
  { name, resource, last }: Deletion<T>,
): Promise<Measurement[]> {
  const { store, audit } = cluster;
  await quiet(cluster);
  await audit.take();
  const { items } = await store.list(resource);
  const [before, from] = [await cluster.processor(), performance.now()];
  await load(items.length, IN_FLIGHT, async (index) => {
    await store.delete(resource, objectKey((items[index] as T).metadata));
  });
  await eventually(name, async () => (await store.list(last)).items.length === 0, {
    ...{ everyMs: 200, withinMs: 600_000 },
  });
  const seconds = (performance.now() - from) / 1000;
  await quiet(cluster);
  return figures(cluster, { name, count: items.length, seconds, before });
}

const objectKey = ({ name, namespace }: KubeObject["metadata"]) => ({ name, ...defined({ namespace }) });

/** Until nothing more is asked for two seconds. */
async function quiet({ audit }: BenchCluster): Promise<void> {
  let [last, since] = ["", Date.now()];
  await eventually(
    "no more requests",
    async () => {
      const { table } = await audit.read();
      if (table !== last) [last, since] = [table, Date.now()];
      return Date.now() - since > 2_000;
    },
    { everyMs: 200 },
  );
}
