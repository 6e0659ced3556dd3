import { randomBytes } from "node:crypto";
import { keyOf, type PersistentVolumeClaim, runController, type VolumeSnapshotContent } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { intentOf } from "../common/create-volume/record.ts";
import { source } from "../common/source.ts";
import { runSteps } from "../common/steps.ts";
import { ProvisionEffects } from "./apply.ts";
import { decideProvision } from "./decide.ts";
import { PROVISION_DEFAULTS, type ProvisionOptions } from "./plan.ts";
import { readClaim } from "./read.ts";

export type { ProvisionOptions } from "./plan.ts";

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
  const identity = `${context.now()}-${randomBytes(2).toString("hex")}-${context.driver.info.name}`;
  const effects = new ProvisionEffects(context, identity);
  const { records } = context.cluster;
  await records.informer.synced(signal);
  // What an earlier life has left open may have had its effect.
  for (const record of records.list()) effects.uncertainty.note(intentOf(record)?.claim.uid ?? "");
  await runController(
    {
      name: "provision",
      logger: context.logger,
      concurrency: context.concurrency,
      sources: sourcesOf(context),
      reconcile: (uid) => reconcileClaim(context, options, effects, uid, signal),
    },
    signal,
  );
}

async function reconcileClaim(
  context: SidecarContext,
  options: ProvisionOptions,
  effects: ProvisionEffects,
  uid: string,
  signal: AbortSignal,
) {
  if (uid === "") return undefined;
  let requestKey = "";
  const result = await runSteps(
    {
      look: async (fresh) => {
        const sight = await readClaim(context, options, uid, effects.answers.get(uid), fresh);
        requestKey = sight.requestKey;
        const pauseMs = effects.pauses.remaining(uid, requestKey);
        return { ...sight.view, mayExist: effects.uncertainty.has(uid), pauseMs };
      },
      decide: decideProvision,
      apply: (step, view) => effects.apply(step, view, uid, requestKey),
    },
    signal,
  );
  if (result === undefined && context.cluster.claims.byIndex("uid", uid).length === 0)
    effects.pauses.reset(uid);
  return result;
}

/** Everything that a decision depends on wakes the claims that depend on it: nothing waits for a resync. */
function sourcesOf({ cluster, driver, hasSnapshotKinds, hasAttributesClasses }: SidecarContext) {
  const uidsOf = (claims: PersistentVolumeClaim[]) => claims.flatMap(({ metadata }) => metadata.uid ?? []);
  const waitingFor = (kind: string, key: string) =>
    uidsOf(cluster.claims.byIndex("pendingSource", `${kind}:${key}`));
  const ofClass = (name: string) => uidsOf(cluster.claims.byIndex("pendingClass", name));
  const ofDriver = () =>
    cluster.classes
      .list()
      .filter(({ provisioner }) => provisioner === driver.info.name)
      .flatMap(({ metadata }) => ofClass(metadata.name));
  const ofContent = ({ spec: { volumeSnapshotRef: ref } }: VolumeSnapshotContent) =>
    waitingFor("VolumeSnapshot", keyOf({ metadata: ref }));
  return [
    source(cluster.claims, (claim) => [
      claim.metadata.uid ?? "",
      ...waitingFor("PersistentVolumeClaim", keyOf(claim)),
    ]),
    source(cluster.records, (record) => [intentOf(record)?.claim.uid ?? ""]),
    source(cluster.volumes, ({ spec }) => [spec?.claimRef?.uid ?? ""]),
    source(cluster.classes, ({ metadata }) => ofClass(metadata.name)),
    ...(hasAttributesClasses
      ? [
          source(cluster.attributesClasses, ({ metadata }) =>
            uidsOf(cluster.claims.byIndex("pendingAttributesClass", metadata.name)),
          ),
        ]
      : []),
    ...(driver.info.topology ? [source(cluster.csiNodes, ofDriver), source(cluster.nodes, ofDriver)] : []),
    ...(hasSnapshotKinds
      ? [
          source(cluster.snapshots, (snapshot) => waitingFor("VolumeSnapshot", keyOf(snapshot))),
          source(cluster.contents, ofContent),
        ]
      : []),
  ];
}
