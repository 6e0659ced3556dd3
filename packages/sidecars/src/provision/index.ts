import { randomBytes } from "node:crypto";
import { hasFinalizer, isDeleting, type PersistentVolume, stepFailpoints } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { sidecarController } from "../common/controller.ts";
import { PV_FINALIZER } from "../common/names.ts";
import { source } from "../common/source.ts";
import { ProvisionEffects } from "./apply.ts";
import { mayWantVolume } from "./claim.ts";
import { decideProvision, type ProvisionStep, type ProvisionView } from "./decide.ts";
import type { Journal } from "./journal.ts";
import { PROVISION_DEFAULTS, type ProvisionOptions } from "./plan.ts";
import { readClaim } from "./read.ts";

export type { ProvisionOptions } from "./plan.ts";

const failpoints = stepFailpoints<ProvisionStep>("sidecars/provision", {
  "announce-populator": true,
  report: true,
  reschedule: true,
  "protect-source": true,
  "save-intent": true,
  "create-volume": true,
  "create-pv": true,
  "delete-volume": true,
  "delete-intent": true,
});

/**
 * Makes volumes for claims (K8S-023 to K8S-032). Keys are claim UIDs: a record may outlive its claim, and a new
 * claim of the same name is another matter.
 */
export async function runProvision(
  context: SidecarContext,
  given: Partial<ProvisionOptions>,
  signal: AbortSignal,
): Promise<void> {
  const options = { ...PROVISION_DEFAULTS, ...given };
  const { driver, here, now } = context;
  const place = here === undefined ? "" : `-${here.node}`;
  const identity = `${now()}-${randomBytes(2).toString("hex")}-${driver.info.name}${place}`;
  const effects = new ProvisionEffects(context, identity);
  const { records } = context.cluster;
  await records.informer.synced(signal);
  // What an earlier life has left open may have had its effect.
  for (const uid of effects.journal.open()) effects.uncertainty.note(uid);
  const controller = sidecarController<ProvisionView & { requestKey: () => string }, ProvisionStep>(context, {
    name: "provision",
    failpoints,
    ...sourcesOf(context, effects.journal),
    async read(uid, from, fresh) {
      const { view, requestKey } = await readClaim(from, options, uid, {
        result: effects.results.get(uid),
        record: effects.journal.find(from.cluster, uid),
        openElsewhere: effects.journal.isOpenElsewhere(from.cluster, uid),
        fresh,
      });
      const backoffMs = effects.backoff.remaining(uid, requestKey);
      return { ...view, mayExist: effects.uncertainty.has(uid), backoffMs, requestKey };
    },
    isGone: ({ claim, record }) =>
      record === undefined && (claim === undefined || !mayWantVolume(claim, driver.info.name)),
    decide: decideProvision,
    apply: (step, view, uid) => effects.apply(step, view, uid, view.requestKey),
    ended: (uid) => {
      const [claim] = context.cluster.claims.byIndex("uid", uid);
      if (claim === undefined || !mayWantVolume(claim, driver.info.name)) effects.backoff.reset(uid);
    },
  });
  try {
    await controller.run(signal);
  } finally {
    await effects.journal.flush();
  }
}

/** A record may outlive its claim: it brings its key by itself. */
function sourcesOf(context: SidecarContext, journal: Journal) {
  const { cluster, driver, hasSnapshotKinds, hasAttributesClasses, here } = context;
  const unboundClaimOf = ({ spec }: PersistentVolume): string[] => {
    const uid = spec?.claimRef?.uid;
    const claims = uid === undefined ? [] : cluster.claims.byIndex("uid", uid);
    return claims
      .filter((claim) => mayWantVolume(claim, driver.info.name))
      .map(({ metadata }) => metadata.uid ?? "");
  };
  return {
    sources: [
      source(
        cluster.claims,
        ({ metadata }) => [metadata.uid],
        (claim) => mayWantVolume(claim, driver.info.name),
      ),
      source(cluster.records, (record) => journal.openIn(record)),
      // A claim that has its volume is left alone until it is bound: it needs another one when that goes before.
      source(cluster.volumes, unboundClaimOf, isGoing),
    ],
    watched: [
      cluster.classes,
      ...(hasAttributesClasses ? [cluster.attributesClasses] : []),
      ...(driver.info.topology && here === undefined ? [cluster.csiNodes, cluster.nodes] : []),
      ...(hasSnapshotKinds ? [cluster.snapshots, cluster.contents] : []),
      ...(context.hasReferenceGrants ? [cluster.referenceGrants] : []),
      ...(context.hasPopulators ? [cluster.populators] : []),
    ],
  };
}

/** It is being deleted, or nothing keeps it from being gone at once. */
const isGoing = (volume: PersistentVolume): boolean =>
  isDeleting(volume) || !hasFinalizer(volume, PV_FINALIZER);
