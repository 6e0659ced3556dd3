import {
  createInformer,
  type Logger,
  type ObjectStore,
  Reconciler,
  source,
  stepFailpoints,
} from "@mooring/store";
import { ClusterRoles } from "../../apiserver/auth/rbac.ts";
import { decide, type RoleStep, type RoleView } from "./decide.ts";

const failpoints = stepFailpoints<RoleStep>("standalone/role-aggregation", { "set-rules": true });

interface RoleAggregationOptions {
  store: ObjectStore;
  logger: Logger;
  signal: AbortSignal;
}

/** Keeps the rules of cluster roles with an `aggregationRule`. Resolves when it has seen all roles. */
export async function startRoleAggregation({
  store,
  logger,
  signal,
}: RoleAggregationOptions): Promise<{ done: Promise<void> }> {
  const roles = createInformer(store, ClusterRoles, { logger });
  const informing = roles.run(signal);
  const reconciler = new Reconciler<RoleView, RoleStep | { do: "done" }>({
    ...{ name: "role-aggregation", store, logger, failpoints },
    sources: [source(roles, ({ metadata }) => [metadata.name])],
    read(name, { reader }) {
      const cached = reader.over(roles);
      const role = cached.get(name);
      if (role === undefined) return undefined;
      return { role, all: role.aggregationRule === undefined ? [] : cached.list() };
    },
    decide,
    apply: async (step, { role }) => {
      await store.update(ClusterRoles, { ...role, rules: step.rules }, { signal });
    },
  });
  const running = reconciler.run(signal);
  await roles.synced(signal);
  return { done: Promise.all([informing, running]).then(() => {}) };
}
