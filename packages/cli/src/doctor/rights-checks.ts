import { type Lack, missingRights } from "@mooring/sidecars";
import { ACCOUNT_RIGHTS } from "@mooring/standalone";
import { isForbidden, isNotFound, type ObjectStore, ServiceAccounts } from "@mooring/store";
import { type Check, check } from "./check.ts";

const ROLES = "kubectl apply -f deploy/manifests/rbac.yaml, or helm upgrade, of the version that runs";

/**
 * Whether the service accounts of a cluster's processes may do what those do. Nothing where there are no such accounts: one
 * process that is everything needs none.
 */
export async function rightsChecks(store: ObjectStore, namespace: string): Promise<Check[]> {
  const all = await Promise.all(Object.keys(ACCOUNT_RIGHTS).map((name) => rightsOf(store, namespace, name)));
  return all.flat();
}

async function rightsOf(store: ObjectStore, namespace: string, name: string): Promise<Check[]> {
  const title = `rights of ${name}`;
  const user = `system:serviceaccount:${namespace}:${name}`;
  try {
    await store.get(ServiceAccounts, { namespace, name });
    const lacks = await missingRights(store, ACCOUNT_RIGHTS[name] ?? new Map(), { namespace, user });
    if (lacks.length === 0) return [check(title, "ok", "may do all that it needs to")];
    return lacks.map((lack) => check(title, "fail", describe(lack), ROLES));
  } catch (error) {
    if (isNotFound(error)) return [];
    if (!isForbidden(error)) throw error;
    return [check(title, "warn", `were not checked: ${error.message}`, "check as an administrator")];
  }
}

function describe({ verb, resource, namespace, neededBy }: Lack): string {
  const where = namespace === undefined ? "" : ` in namespace ${namespace}`;
  return `may not ${verb} ${resource}${where}; needed by ${neededBy.join(", ")}`;
}
