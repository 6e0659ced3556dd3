import { IMAGE_FEATURES, type SurveyedImage } from "@mooring/engine";
import { defined } from "@mooring/store";
import { type ImportContext, importedName, nameOf } from "./context.ts";
import { type Obstacle, obstaclesOf } from "./obstacles.ts";
import { type ImportStep, importSteps, sectorSizeOf } from "./steps.ts";

/** What an import of one image would do, or the way back from one. Nothing of it is done. */
export interface ImportPlan {
  /** Its name before the import. */
  image: string;
  size: number;
  /** What ceph-csi calls it: its PersistentVolume, else its request. */
  from?: { persistentVolume?: string; claim?: string; request?: string };
  /**
   * `ready`: nothing is in the way. `blocked`: something is. `imported`: it is Mooring's. `as-before`: nothing is left of an
   * import.
   */
  state: "ready" | "blocked" | "imported" | "as-before";
  obstacles: Obstacle[];
  /** What stays as it is and may surprise. */
  notes: string[];
  /** What it would do, in this order. Empty unless it is ready. */
  steps: ImportStep[];
}

/** What an import of this image would do, or what is in its way. Pure. */
export function planImport(image: SurveyedImage, context: ImportContext): ImportPlan {
  const steps = importSteps(image, context);
  const plan = { ...aboutImage(image, context), notes: notesOf(image, context, steps) };
  if (steps.length === 0) return { ...plan, state: "imported", obstacles: [], steps };
  const obstacles = obstaclesOf(image, context);
  if (obstacles.length > 0) return { ...plan, state: "blocked", obstacles, steps: [] };
  return { ...plan, state: "ready", obstacles, steps };
}

/** Which image it is, whatever is to be done with it. */
export function aboutImage(
  image: SurveyedImage,
  context: ImportContext,
): Pick<ImportPlan, "image" | "size" | "from"> {
  const [described] = context.persistentVolumes;
  const claim = described?.spec?.claimRef;
  const from = defined({
    persistentVolume: described?.metadata.name,
    claim: claim && `${claim.namespace}/${claim.name}`,
    request: image.csi?.request,
  });
  const about = { image: nameOf(image, context), size: image.size };
  return Object.keys(from).length === 0 ? about : { ...about, from };
}

function notesOf(image: SurveyedImage, context: ImportContext, steps: readonly ImportStep[]): string[] {
  const { group, parent, snapshots, csi, features, name } = image;
  const fewer = IMAGE_FEATURES.filter((feature) => !features.includes(feature));
  const renamed = name === `mooring.${importedName(context.pool, image)}`;
  return [
    ...(snapshots > 0
      ? [
          `its ${snapshots} RBD snapshots stay; they become no VolumeSnapshots, and while there is one Ceph keeps the image`,
        ]
      : []),
    ...(parent === undefined ? [] : [`it is a clone of ${parent}, which has to stay`]),
    ...(group === undefined ? [] : [`it is in the RBD group ${group}, and is not deleted while it is`]),
    ...(fewer.length > 0 ? [`it has no ${fewer.join(", ")}, and gets none`] : []),
    ...((renamed ? image.sectorSize : sectorSizeOf(image, context)) === 512
      ? ["its device gets sectors of 512 bytes, as it had; it does not move while it is in use"]
      : []),
    ...(csi === undefined
      ? []
      : ["the journal of ceph-csi keeps its names; ceph-csi finds no image by them any more"]),
    ...(csi?.whole === false ? ["the journal of ceph-csi has no name that leads to it"] : []),
    ...steps.flatMap((step) =>
      step.do === "delete-claim"
        ? [
            `the claim ${step.delete.namespace}/${step.delete.name} is made anew; once it is deleted, there is no --rollback`,
          ]
        : [],
    ),
  ];
}
