import { mutate } from "../controller/mutate.ts";
import { reconcileCounts } from "../controller/reconciler/metrics.ts";
import type { KubeObject } from "../object/meta.ts";
import { keyOf, parseKey, type Resource } from "../object/resource.ts";
import type { ObjectStore } from "../object-store.ts";
import { eventually } from "../runtime/eventually.ts";

/** What an impatient user of kubectl may do to any object. `kind` and `which` choose it, among those that are there. */
export interface Disturbance {
  do: "delete" | "strip" | "touch";
  kind: number;
  which: number;
}

/** Deletes an object, takes its finalizers away, or changes what nobody reads of it. `spared`: those that stay. */
export async function disturb(
  store: ObjectStore,
  kinds: readonly Resource<KubeObject>[],
  what: Disturbance,
  spared: (object: KubeObject) => boolean = () => false,
): Promise<void> {
  const resource = kinds[what.kind];
  const object = resource && (await store.list(resource)).items[what.which];
  if (resource === undefined || object === undefined) return;
  const key = parseKey(keyOf(object));
  if (what.do === "delete") {
    if (!spared(object)) await store.delete(resource, key);
    return;
  }
  await mutate(store, resource, key, ({ metadata }) => {
    if (what.do === "strip") metadata.finalizers = [];
    else metadata.labels = { ...metadata.labels, touched: String(Math.random()) };
  });
}

/** A history proves nothing of a controller that it never gives anything to do. */
export async function untilEachHasStepped(controllers: readonly string[]): Promise<void> {
  const idle = () => controllers.filter((name) => (reconcileCounts().get(name)?.steps ?? 0) === 0);
  await eventually("each controller to have made a step", () => idle().length === 0, {
    ...{ lastSeen: idle, withinMs: 300_000 },
  });
}
