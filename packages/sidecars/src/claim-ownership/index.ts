import { keyOf, stepFailpoints } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { sidecarController } from "../common/controller.ts";
import type { Here } from "../common/here.ts";
import { Remembered } from "../common/remembered.ts";
import { source } from "../common/source.ts";
import { PROVISION_DEFAULTS, type ProvisionOptions } from "../provision/plan.ts";
import { OwnershipEffects } from "./apply.ts";
import { Attempts } from "./attempts.ts";
import { decideOwnership, isUnowned, type OwnershipStep, type OwnershipView } from "./decide.ts";
import { readOwnership } from "./read.ts";

/** How a node deployment deals with claims that no scheduler chooses a node for. */
export interface NodeDeploymentOptions {
  /** Whether nodes take claims of classes with immediate binding; default true. */
  immediateBinding?: boolean;
  /** Milliseconds before a node takes one, at most; default 20,000. */
  baseDelayMs?: number;
  /** The same after attempts that failed; default 60,000. */
  maxDelayMs?: number;
}

const failpoints = stepFailpoints<OwnershipStep>("sidecars/claim-ownership", {
  "ask-driver": true,
  "select-node": true,
});

/** Takes claims with immediate binding for this node, where no other one has taken them. */
export function runClaimOwnership(
  context: SidecarContext,
  here: Here,
  {
    provision,
    baseDelayMs = 20_000,
    maxDelayMs = 60_000,
  }: NodeDeploymentOptions & { provision: Partial<ProvisionOptions> | undefined },
  signal: AbortSignal,
): Promise<void> {
  const { cluster, driver, hasAttributesClasses, hasSnapshotKinds, now } = context;
  const attempts = new Attempts({ baseMs: baseDelayMs, maxMs: maxDelayMs, now });
  const effects = new OwnershipEffects(context, here, attempts, signal);
  const reading = { here, attempts, options: { ...PROVISION_DEFAULTS, ...provision } };
  const remembered = new Remembered(
    (key) => cluster.claims.get(key)?.metadata.uid,
    (uid) => attempts.forget(uid),
  );
  return sidecarController<OwnershipView, OwnershipStep>(context, {
    name: "claim-ownership",
    failpoints,
    sources: [source(cluster.claims, (claim) => [keyOf(claim)])],
    watched: [
      ...[cluster.classes, cluster.records, cluster.volumes],
      ...(hasAttributesClasses ? [cluster.attributesClasses] : []),
      ...(hasSnapshotKinds ? [cluster.snapshots, cluster.contents] : []),
      ...(context.hasReferenceGrants ? [cluster.referenceGrants] : []),
      ...(context.hasPopulators ? [cluster.populators] : []),
    ],
    read: async (key, from, fresh) => {
      const view = await readOwnership(from, reading, key, fresh);
      if (isUnowned(view)) remembered.note(key, view.claim?.metadata.uid ?? "");
      return view;
    },
    isGone: ({ claim }) => claim === undefined,
    decide: decideOwnership,
    async apply(step, { claim }) {
      if (claim !== undefined) await effects.apply(step, claim);
    },
    ended(key) {
      remembered.ended(key);
      const claim = cluster.claims.get(key);
      // A node has it: should that give it up, the time begins anew.
      const storageClass = cluster.classes.get(claim?.spec?.storageClassName ?? "");
      if (claim !== undefined && !isUnowned({ claim, storageClass, driver: driver.info }))
        attempts.forget(claim.metadata.uid ?? "");
    },
  }).run(signal);
}
