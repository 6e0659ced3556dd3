import type { Api } from "../api.ts";
import { RBAC_GROUP } from "../auth/rbac.ts";
import type { Call } from "../http/call.ts";
import type { Target } from "../resources/target.ts";
import { type Admit, escalationCheck } from "./escalation.ts";
import { nodeRestriction } from "./node-restriction.ts";
import { namespaceSecurity, podSecurity } from "./pod-security/admit.ts";
import { podAdmission } from "./pods.ts";
import { sizeCheck } from "./size.ts";

/**
 * What a write has to pass beyond the rules of its kind, because of who asks or of other objects. What takes time is read
 * here; the result itself is synchronous and part of the write.
 */
export async function admission(call: Call, target: Target, api: Api): Promise<Admit> {
  const { user } = call;
  const held = target.group === RBAC_GROUP ? await api.authorizer.rulesFor(user, target.namespace ?? "") : [];
  const checks = [
    escalationCheck({ user, target, held, store: api.store }),
    nodeRestriction(call, target, api),
    podAdmission(target, api),
    podSecurity(call, target, api),
    await namespaceSecurity(call, target, api),
    sizeCheck(call),
  ].filter((check) => check !== undefined);
  return (next, old) => {
    for (const check of checks) check(next, old);
  };
}
