import { failpoint, keyOf, type PersistentVolume } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { VOLUME_CONDITION } from "../common/names.ts";
import { patchMetadata } from "../kube/patch.ts";
import { type Condition, decideCondition } from "./decide.ts";

const reported = failpoint("sidecars/health/condition-reported");

/** Writes the condition of a volume into its claim, once, and reports it to its users. */
export async function reportCondition(
  { cluster, events, store }: SidecarContext,
  volume: PersistentVolume,
  condition: Condition,
): Promise<void> {
  const { name = "", namespace = "", uid } = volume.spec?.claimRef ?? {};
  const claim = cluster.claims.get(keyOf({ metadata: { name, namespace } }));
  if (claim?.metadata.uid !== uid || claim === undefined) return;
  const step = decideCondition(claim.metadata.annotations?.[VOLUME_CONDITION], condition);
  if (step.do === "none") return;
  const message = step.do === "report-abnormal" ? step.message : null;
  await patchMetadata(store, cluster.claims, claim, { annotations: { [VOLUME_CONDITION]: message } });
  reported();
  if (message === null) events.event(claim, "Normal", "VolumeConditionNormal", describeNormal(condition));
  else events.event(claim, "Warning", "VolumeConditionAbnormal", message);
}

/** A driver may say of a volume that is well again what its user has to look after. */
function describeNormal({ message }: Condition): string {
  return `The volume's driver reports nothing more${message === "" ? "" : `: ${message}`}`;
}
