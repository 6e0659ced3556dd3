import { noSectorSizeArguments, type SurveyedImage } from "@mooring/engine";
import { imageOf, POLICY } from "./annotations.ts";
import { type ImportContext, importedName } from "./context.ts";
import type { Obstacle } from "./obstacles.ts";
import { aboutImage, type ImportPlan } from "./plan.ts";
import { type ImportStep, wantedClaim } from "./steps.ts";

/** The way back from an import that has not replaced a claim yet, or what is in its way. Pure. */
export function planRollback(image: SurveyedImage, context: ImportContext): ImportPlan {
  const plan = { ...aboutImage(image, context), notes: [] };
  const steps = rollbackSteps(image, context);
  if (steps.length === 0) return { ...plan, state: "as-before", obstacles: [], steps };
  const obstacles = obstaclesOf(image, context);
  if (obstacles.length > 0) return { ...plan, state: "blocked", obstacles, steps: [] };
  return { ...plan, state: "ready", obstacles, steps };
}

/**
 * The image before the Volume: one that is deleted takes the image of its name along. The new PersistentVolume last, which knows how
 * the image was called.
 */
function rollbackSteps(image: SurveyedImage, { pool, where, made, persistentVolumes: [old] }: ImportContext) {
  const steps: ImportStep[] = [];
  const { volume, persistentVolume } = made;
  const before = persistentVolume && imageOf(persistentVolume);
  const imported = `mooring.${importedName(pool, image)}`;
  const renamed = image.name === imported && before !== undefined;
  if (renamed)
    steps.push({ do: "rename-back", run: ["rbd", "rename", `${where}/${imported}`, `${where}/${before}`] });
  if (volume !== undefined) steps.push({ do: "delete-volume", delete: named("Volume", volume.metadata) });
  if (image.sectorSize !== 4096)
    steps.push({
      do: "remove-sector-size",
      run: ["rbd", ...noSectorSizeArguments(`${where}/${renamed ? before : image.name}`)],
    });
  const policy = old?.metadata.annotations?.[POLICY];
  if (old !== undefined && policy !== undefined)
    steps.push({
      ...{ do: "restore-policy", persistentVolume: old.metadata.name },
      patch: {
        metadata: { annotations: { [POLICY]: null } },
        spec: { persistentVolumeReclaimPolicy: policy },
      },
    });
  if (before !== undefined && persistentVolume !== undefined)
    steps.push({
      do: "delete-persistent-volume",
      delete: named("PersistentVolume", persistentVolume.metadata),
    });
  return steps;
}

function named<Kind extends string>(kind: Kind, { name, uid = "" }: { name: string; uid?: string }) {
  return { kind, name, uid };
}

function obstaclesOf(image: SurveyedImage, context: ImportContext): Obstacle[] {
  const { made, claim, others, pool } = context;
  const { persistentVolume, volume } = made;
  const found: Obstacle[] = [];
  const wanted = wantedClaim(importedName(pool, image), image, context);
  const { namespace = "", name = "" } = wanted?.metadata ?? {};
  const replaced = claim === undefined || claim.spec?.volumeName === persistentVolume?.metadata.name;
  if (persistentVolume !== undefined && wanted !== undefined && replaced)
    found.push({
      why: `the claim ${namespace}/${name} has been deleted for it: from there on an import goes forward only`,
      next: "run it again without --rollback",
    });
  else if (persistentVolume?.status?.phase === "Bound")
    found.push({
      why: `the claim ${persistentVolume.spec?.claimRef?.namespace}/${persistentVolume.spec?.claimRef?.name} has it`,
      next: "delete the pods that use it, and the claim",
    });
  if (volume?.status?.currentNodeID !== undefined && volume.status.currentNodeID !== "")
    found.push({
      why: `it is attached to ${volume.status.currentNodeID}`,
      next: `mooring volume detach ${volume.metadata.name}`,
    });
  else if (image.watchers.length > 0)
    found.push({ why: `${image.watchers.join(", ")} has it open`, next: "stop what uses it" });
  const before = persistentVolume && imageOf(persistentVolume);
  if (before !== undefined && image.name !== before && others.has(before))
    found.push({ why: `another image is called ${before}`, next: `give that one another name: rbd rename` });
  return found;
}
