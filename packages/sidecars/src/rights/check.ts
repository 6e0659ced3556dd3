import {
  defineResource,
  groupResource,
  type KubeObject,
  type Logger,
  type ObjectStore,
  StatusError,
} from "@mooring/store";
import type { ControllerName } from "../controllers.ts";
import { EVERY_CONTROLLER, type Right, WRITES } from "./writes.ts";

interface AccessReview extends KubeObject {
  spec: { resourceAttributes: Record<string, string> };
  status?: { allowed?: boolean };
}

const AccessReviews = defineResource<AccessReview>(
  "authorization.k8s.io",
  "v1",
  "SelfSubjectAccessReview",
  "selfsubjectaccessreviews",
  false,
);

/** One thing that the server does not let us do. */
export interface MissingRight {
  verb: string;
  /** `persistentvolumeclaims/status`, `volumesnapshots.snapshot.storage.k8s.io`. */
  resource: string;
  /** Absent: in the whole cluster. */
  namespace?: string;
}

interface Asking {
  /** Where the records are. */
  namespace: string;
  logger: Logger;
  signal: AbortSignal;
}

/** The rights that the controllers of these names lack: see {@link reportMissing}. */
export function reportMissingRights(
  store: ObjectStore,
  names: readonly ControllerName[],
  asking: Asking,
): Promise<void> {
  const needs = names.map((name) => [name, [...WRITES[name], ...EVERY_CONTROLLER]] as const);
  return reportMissing(store, new Map(needs), asking);
}

/**
 * Asks the server what we may do, and says of each missing right who needs it: without this the first claim that fails
 * would be the one to tell. A store that does not know the question grants everything.
 */
export async function reportMissing(
  store: ObjectStore,
  needs: ReadonlyMap<string, readonly Right[]>,
  { namespace, logger, signal }: Asking,
): Promise<void> {
  const asked = new Map<string, { right: MissingRight; needed: Set<string>; allowed: Promise<boolean> }>();
  for (const [name, rights] of needs) {
    for (const need of rights) {
      for (const verb of need.verbs) {
        const right = rightOf(need, verb, namespace);
        const key = JSON.stringify(right);
        const known = asked.get(key) ?? {
          right,
          needed: new Set(),
          allowed: isAllowed(store, need, right, signal),
        };
        known.needed.add(name);
        asked.set(key, known);
      }
    }
  }
  for (const { right, needed, allowed } of asked.values()) {
    if (await allowed) continue;
    const { verb, resource, namespace: within = "the whole cluster" } = right;
    logger.error(
      { verb, resource, within, controllers: [...needed] },
      `missing right: may not ${verb} ${resource}; add it to the role of this service account`,
    );
  }
}

function rightOf({ resource, subresource, inNamespace }: Right, verb: string, records: string) {
  const namespace = inNamespace === true ? records : inNamespace;
  const plural = groupResource(resource);
  return {
    verb,
    resource: subresource === undefined ? plural : `${plural}/${subresource}`,
    ...(namespace === undefined ? {} : { namespace }),
  };
}

async function isAllowed(
  store: ObjectStore,
  { resource, subresource = "" }: Right,
  { verb, namespace = "" }: MissingRight,
  signal: AbortSignal,
): Promise<boolean> {
  const { group, plural } = resource;
  const review: AccessReview = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SelfSubjectAccessReview",
    // The server makes no object of it.
    metadata: {} as KubeObject["metadata"],
    spec: { resourceAttributes: { group, resource: plural, subresource, verb, namespace } },
  };
  try {
    return (await store.create(AccessReviews, review, { signal })).status?.allowed !== false;
  } catch (error) {
    if (error instanceof StatusError || signal.aborted) return true;
    throw error;
  }
}
