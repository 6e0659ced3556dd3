import type { UnstructuredObject } from "@mooring/store";
import { mayReadPath } from "../auth/authorize.ts";
import type { Call, User } from "../http/call.ts";

interface AccessSpec {
  user?: string;
  groups?: string[];
  resourceAttributes?: object;
  nonResourceAttributes?: { path?: string; verb?: string };
}

const VERB_METHOD: Readonly<Record<string, string>> = { get: "GET", head: "HEAD" };

/** One rule stands for all: administrators may do everything, everybody may read what is public. */
function access(user: User, { nonResourceAttributes }: AccessSpec): object {
  const { path = "", verb = "" } = nonResourceAttributes ?? {};
  const allowed = mayReadPath(user, VERB_METHOD[verb] ?? verb.toUpperCase(), path);
  return allowed ? { allowed } : { allowed, reason: "only the administrator of this server has access" };
}

const specOf = (review: UnstructuredObject) => (review.spec ?? {}) as AccessSpec;

/** `kubectl auth can-i`. */
export function selfAccessReview(review: UnstructuredObject, { user }: Call): object {
  return access(user, specOf(review));
}

/** The same about somebody else. The administrator's groups are known here; others are believed as given. */
export function accessReview(review: UnstructuredObject, call: Call): object {
  const spec = specOf(review);
  const username = spec.user ?? "";
  const groups = username === call.user.username ? call.user.groups : (spec.groups ?? []);
  return access({ username, groups }, spec);
}

/** `kubectl auth can-i --list`. */
export function rulesReview(_review: UnstructuredObject, { user }: Call): object {
  const admin = mayReadPath(user, "*", "*");
  return {
    incomplete: false,
    resourceRules: admin ? [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }] : [],
    nonResourceRules: admin
      ? [{ verbs: ["*"], nonResourceURLs: ["*"] }]
      : [{ verbs: ["get"], nonResourceURLs: ["/healthz", "/livez", "/readyz", "/version", "/version/"] }],
  };
}
