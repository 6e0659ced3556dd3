import { isNotFound, type KubeObject, listAll, type ObjectStore } from "@mooring/store";
import { type KindInfo, type KindRegistry, verbsOf } from "../../kinds/kind-info.ts";
import { type Remnant, remnantOf } from "./decide.ts";

/** Everything that is left in a namespace, of all kinds that are served now. */
export async function contentsOf(
  store: ObjectStore,
  kinds: KindRegistry,
  namespace: string,
  signal: AbortSignal,
): Promise<Remnant[]> {
  const remnants: Remnant[] = [];
  for (const { resource } of kinds.all().filter(isContent)) {
    try {
      const { items } = await listAll<KubeObject>(store, resource, { namespace, signal });
      for (const object of items) remnants.push(remnantOf(resource, object));
    } catch (error) {
      // A kind whose CRD was removed while we read takes its objects with it.
      if (!isNotFound(error)) throw error;
    }
  }
  return remnants;
}

/** events.k8s.io shows the events of the core group, which are deleted there. */
function isContent(kind: KindInfo): boolean {
  const { resource } = kind;
  const verbs = verbsOf(kind);
  if (!resource.namespaced || resource.group === "events.k8s.io") return false;
  return verbs.includes("list") && verbs.includes("delete");
}
