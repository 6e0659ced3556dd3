import { Pods } from "@mooring/store";
import type { Api } from "../api.ts";
import type { Call } from "../http/call.ts";
import { send } from "../http/respond.ts";
import { type Expected, readObject } from "../resources/decode-object.ts";
import { deletionOf } from "../resources/delete.ts";
import { fieldValidation, writeOptions } from "../resources/options.ts";
import type { ItemTarget } from "../resources/target.ts";

const EVICTION: Expected = { apiVersion: "policy/v1", kind: "Eviction", defaulted: true };

/** POST pods/NAME/eviction: a polite delete. There are no disruption budgets on one machine, so it always may. */
export async function handleEviction(call: Call, target: ItemTarget, { store }: Api): Promise<void> {
  const eviction = await readObject(call, target, fieldValidation(call, "CreateOptions"), EVICTION);
  const { orphanDependents: _policy, ...options } = deletionOf(eviction.deleteOptions ?? {});
  // `kubectl drain --dry-run=server` sends it in the body only.
  const dryRun = writeOptions(call, "CreateOptions").dryRun === true || options.dryRun === true;
  const key = { namespace: target.namespace ?? "", name: target.name };
  await store.delete(Pods, key, { ...options, dryRun });
  await send(call, 201, { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 });
}
