import { type DeleteOptions, defined, Pods } from "@mooring/store";
import type { Api } from "../api.ts";
import type { Call } from "../http/call.ts";
import { send } from "../http/respond.ts";
import { type Expected, readObject } from "../resources/decode-object.ts";
import { dryRunOf, fieldValidation, writeOptions } from "../resources/options.ts";
import type { ItemTarget } from "../resources/target.ts";

/** As it comes over the wire, where `dryRun` is a list of stages. */
type Given = Pick<DeleteOptions, "gracePeriodSeconds" | "preconditions"> & { dryRun?: string[] };

const EVICTION: Expected = { apiVersion: "policy/v1", kind: "Eviction", defaulted: true };

/** POST pods/NAME/eviction: a polite delete. There are no disruption budgets on one machine, so it always may. */
export async function handleEviction(call: Call, target: ItemTarget, { store }: Api): Promise<void> {
  const eviction = await readObject(call, target, fieldValidation(call, "CreateOptions"), EVICTION);
  const given = (eviction.deleteOptions ?? {}) as Given;
  // `kubectl drain --dry-run=server` sends it in the body only.
  const dryRun = writeOptions(call, "CreateOptions").dryRun || dryRunOf(given.dryRun ?? [], "DeleteOptions");
  await store.delete(
    Pods,
    { namespace: target.namespace ?? "", name: target.name },
    {
      ...(typeof given.gracePeriodSeconds === "number"
        ? { gracePeriodSeconds: given.gracePeriodSeconds }
        : {}),
      ...defined({ preconditions: given.preconditions }),
      dryRun,
    },
  );
  await send(call, 201, { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 });
}
