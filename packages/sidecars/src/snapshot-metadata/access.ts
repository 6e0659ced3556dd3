import { CsiError } from "@mooring/csi";
import { defined, type KubeObject, type ObjectStore, VolumeSnapshots } from "@mooring/store";
import {
  type SubjectAccessReview,
  SubjectAccessReviews,
  type TokenReview,
  TokenReviews,
  type UserInfo,
} from "./kinds.ts";

/** A VolumeSnapshot that somebody wants to read, and by which token. */
export interface Wanted {
  token: string;
  namespace: string;
  name: string;
}

/** The server makes no object of a review. */
const NO_OBJECT = {} as KubeObject["metadata"];

/**
 * Lets through whose token is for this audience and who may get this VolumeSnapshot. The API server is asked each time: a token that is
 * revoked is refused with the next call. Throws UNAUTHENTICATED and PERMISSION_DENIED; UNAVAILABLE where it could not be asked.
 */
export async function requireAccess(
  store: ObjectStore,
  audience: string,
  wanted: Wanted,
  signal: AbortSignal,
): Promise<void> {
  const user = await authenticate(store, audience, wanted.token, signal);
  const { group, version, plural: resource } = VolumeSnapshots;
  const { username = "", uid, groups, extra } = user;
  const { namespace, name } = wanted;
  const review: SubjectAccessReview = {
    ...{ apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", metadata: NO_OBJECT },
    spec: {
      ...{ user: username, ...defined({ uid, groups, extra }) },
      resourceAttributes: { verb: "get", group, version, resource, namespace, name },
    },
  };
  const { status } = await store
    .create(SubjectAccessReviews, review, { signal })
    .catch(cannotAsk("create subjectaccessreviews"));
  if (status?.allowed === true && status.denied !== true) return;
  const why = status?.reason ? `: ${status.reason}` : "";
  throw CsiError.permissionDenied(`${username} may not get VolumeSnapshot ${namespace}/${name}${why}`, {
    hint: "A Role with the verb get for volumesnapshots of snapshot.storage.k8s.io lets it.",
  });
}

async function authenticate(
  store: ObjectStore,
  audience: string,
  token: string,
  signal: AbortSignal,
): Promise<UserInfo> {
  const review: TokenReview = {
    ...{ apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", metadata: NO_OBJECT },
    spec: { token, audiences: [audience] },
  };
  const { status } = await store
    .create(TokenReviews, review, { signal })
    .catch(cannotAsk("create tokenreviews"));
  // A server that knows of no audiences returns none: then the token is for whoever has it.
  if (status?.authenticated === true && status.audiences?.includes(audience)) return status.user ?? {};
  throw CsiError.unauthenticated(`security_token is no valid token for the audience "${audience}"`, {
    hint: "Ask for one with the audience of the driver's SnapshotMetadataService.",
  });
}

/** What the API server says may name what only it and we should know. */
function cannotAsk(what: string): (error: unknown) => never {
  return (cause) => {
    throw CsiError.unavailable(`the API server did not let the service ${what}`, {
      hint: "The service's log has the reason; it needs the right to do so.",
      cause,
    });
  };
}
