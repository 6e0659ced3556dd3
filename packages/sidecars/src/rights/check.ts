import {
  defined,
  defineResource,
  groupResource,
  isForbidden,
  type KubeObject,
  type Logger,
  type ObjectStore,
  StatusError,
} from "@mooring/store";
import type { Needs } from "./needs.ts";
import type { Right } from "./writes.ts";

interface AccessReview extends KubeObject {
  spec: { resourceAttributes: Record<string, string>; user?: string; groups?: string[] };
  status?: { allowed?: boolean };
}

const AccessReviews = defineResource<AccessReview>({
  group: "authorization.k8s.io",
  version: "v1",
  kind: "SelfSubjectAccessReview",
  plural: "selfsubjectaccessreviews",
  namespaced: false,
});

const AccessReviewsOfOthers = defineResource<AccessReview>({
  group: "authorization.k8s.io",
  version: "v1",
  kind: "SubjectAccessReview",
  plural: "subjectaccessreviews",
  namespaced: false,
});

/** One thing that the server does not let us do. */
interface MissingRight {
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

/** A right that a user lacks, and which of our controllers needs it. */
export interface Lack extends MissingRight {
  neededBy: readonly string[];
}

interface AccessRequest {
  /** Where the records are. */
  namespace: string;
  /** Ask for this user (`system:serviceaccount:mooring:mooring-node`), not for ourselves. */
  user?: string;
  signal?: AbortSignal;
}

/**
 * Asks the server what we, or another user, may do, and returns which of the needs are missing. A store that does not serve
 * the review grants everything; a user who may not ask for another gets Forbidden.
 */
export async function missingRights(
  store: ObjectStore,
  needs: Needs,
  request: AccessRequest,
): Promise<Lack[]> {
  const asked = new Map<string, { right: MissingRight; neededBy: Set<string>; allowed: Promise<boolean> }>();
  for (const [name, rights] of needs) {
    for (const need of rights) {
      for (const verb of need.verbs) {
        const right = rightOf(need, verb, request.namespace);
        const key = JSON.stringify(right);
        const known = asked.get(key) ?? {
          right,
          neededBy: new Set(),
          allowed: isAllowed(store, need, right, request),
        };
        known.neededBy.add(name);
        asked.set(key, known);
      }
    }
  }
  const all = [...asked.values()];
  const allowed = await Promise.all(all.map((each) => each.allowed));
  return all.flatMap(({ right, neededBy }, at) =>
    allowed[at] === true ? [] : [{ ...right, neededBy: [...neededBy] }],
  );
}

/**
 * Logs of each missing right who needs it: without this the first claim that fails would be the first sign.
 */
export async function reportMissing(
  store: ObjectStore,
  needs: Needs,
  { namespace, logger, signal }: Asking,
): Promise<void> {
  for (const lack of await missingRights(store, needs, { namespace, signal })) {
    const { verb, resource, namespace: within = "the whole cluster", neededBy: controllers } = lack;
    logger.error(
      { verb, resource, within, controllers },
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
    ...defined({ namespace }),
  };
}

async function isAllowed(
  store: ObjectStore,
  { resource, subresource = "" }: Right,
  { verb, namespace = "" }: MissingRight,
  { user, signal }: AccessRequest,
): Promise<boolean> {
  const { group, plural } = resource;
  const resourceAttributes = { group, resource: plural, subresource, verb, namespace };
  const kind = user === undefined ? AccessReviews : AccessReviewsOfOthers;
  const review: AccessReview = {
    apiVersion: "authorization.k8s.io/v1",
    kind: kind.kind,
    // The server makes no object of it.
    metadata: {} as KubeObject["metadata"],
    spec: { resourceAttributes, ...(user === undefined ? {} : { user, groups: groupsOf(user) }) },
  };
  try {
    return (await store.create(kind, review, defined({ signal }))).status?.allowed !== false;
  } catch (error) {
    if (user !== undefined && isForbidden(error)) throw error;
    if (error instanceof StatusError || signal?.aborted === true) return true;
    throw error;
  }
}

/** Those that the server adds to every service account. */
function groupsOf(user: string): string[] {
  const [, , namespace = ""] = user.split(":");
  return ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"];
}
