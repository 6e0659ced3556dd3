import { keyOf, type PersistentVolume, runController } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { source } from "../common/source.ts";
import { runSteps } from "../common/steps.ts";
import { ModifyEffects } from "./apply.ts";
import { decideModify, type ModifyView, modifyQuestion, targetOf } from "./decide.ts";

export interface ModifyOptions {
  /** Tells the driver the names of claim and volume, among the parameters. */
  extraModifyMetadata: boolean;
}

/** Brings volumes to the VolumeAttributesClass of their claims (KEP 3751). */
export function runModify(
  context: SidecarContext,
  given: Partial<ModifyOptions>,
  signal: AbortSignal,
): Promise<void> {
  const { cluster, concurrency, logger } = context;
  const effects = new ModifyEffects(context, { extraModifyMetadata: false, ...given }, signal);
  const claimOf = ({ spec }: PersistentVolume) =>
    spec?.claimRef?.name === undefined ? [] : [`${spec.claimRef.namespace}/${spec.claimRef.name}`];
  // The uids of claims by their keys: what is gone cannot say its own.
  const uids = new Map<string, string>();
  return runController(
    {
      name: "modify",
      logger,
      concurrency,
      sources: [
        source(cluster.claims, (claim) => (claim.spec?.volumeName ? [keyOf(claim)] : [])),
        source(cluster.volumes, claimOf),
        source(cluster.attributesClasses, ({ metadata }) =>
          cluster.claims.byIndex("attributesClass", metadata.name).map(keyOf),
        ),
      ],
      reconcile: (key) => reconcileClaim(context, { effects, uids }, key, signal),
    },
    signal,
  );
}

async function reconcileClaim(
  { cluster, driver }: SidecarContext,
  { effects, uids }: { effects: ModifyEffects; uids: Map<string, string> },
  key: string,
  signal: AbortSignal,
) {
  let uid = uids.get(key) ?? "";
  const look = async (fresh: boolean): Promise<ModifyView> => {
    const claim = fresh ? await cluster.claims.refresh(key) : cluster.claims.get(key);
    const name = claim?.spec?.volumeName ?? "";
    const volume = fresh && name !== "" ? await cluster.volumes.refresh(name) : cluster.volumes.get(name);
    if (claim?.metadata.uid !== undefined && claim.metadata.uid !== uid) {
      effects.forget(uid);
      uid = claim.metadata.uid;
      uids.set(key, uid);
    }
    const answer = effects.answers.get(uid);
    const target = claim === undefined ? undefined : targetOf(claim, answer);
    const attributesClass = target === undefined ? undefined : cluster.attributesClasses.get(target);
    const view = { driver: driver.info, claim, volume, attributesClass, answer, pauseMs: 0 };
    return { ...view, pauseMs: effects.pauses.remaining(uid, modifyQuestion(view)) };
  };
  const result = await runSteps(
    { look, decide: decideModify, apply: (step, view) => effects.apply(step, view) },
    signal,
  );
  if (cluster.claims.get(key)?.metadata.uid !== uid) {
    effects.forget(uid);
    uids.delete(key);
  }
  return result;
}
