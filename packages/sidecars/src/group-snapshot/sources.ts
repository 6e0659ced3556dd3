import {
  isDeleting,
  type LabelRequirement,
  labelRequirements,
  matchesLabels,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type VolumeGroupSnapshot,
} from "@mooring/store";

/** A claim that a selector matches, and its volume if there is one. */
export interface Candidate {
  claim: PersistentVolumeClaim;
  volume: PersistentVolume | undefined;
}

/** A claim that can be a member. */
export interface Source {
  claim: PersistentVolumeClaim;
  driver: string;
  handle: string;
}

/** What speaks against a group snapshot, in one sentence, and for each claim that it is about. */
export interface SourceProblem {
  message: string;
  ofClaims: { claim: PersistentVolumeClaim; message: string }[];
}

/** Most members of one group. */
const MOST_MEMBERS = 100;

/** The conditions of a group snapshot, or why they are not valid. */
export function selectorOf(
  group: VolumeGroupSnapshot,
): { requirements: LabelRequirement[] } | { error: string } {
  try {
    const requirements = labelRequirements(group.spec.source.selector ?? {});
    return requirements.length > 0
      ? { requirements }
      : {
          error:
            "the selector is empty and would select every claim of the namespace: name at least one label in " +
            "spec.source.selector",
        };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

/** True when the group snapshot's selector selects the claim; never across namespaces. */
export function selects(group: VolumeGroupSnapshot, claim: PersistentVolumeClaim): boolean {
  const selector = selectorOf(group);
  return (
    "requirements" in selector &&
    claim.metadata.namespace === group.metadata.namespace &&
    matchesLabels(selector.requirements, claim.metadata.labels)
  );
}

/**
 * Checks every claim before anything is done: one that cannot be a member fails the whole group. `driver`: of the class
 * that the group names, so that claims of other drivers are named together with the rest.
 */
export function chooseSources(
  candidates: readonly Candidate[],
  driver?: string,
): { sources: Source[] } | SourceProblem {
  if (candidates.length === 0) return problem("no claim of the namespace matches the selector");
  if (candidates.length > MOST_MEMBERS)
    return problem(
      `${candidates.length} claims match the selector; a group has at most ${MOST_MEMBERS} members: select fewer`,
    );
  const sources: Source[] = [];
  const ofClaims: SourceProblem["ofClaims"] = [];
  for (const { claim, volume } of candidates) {
    const result = sourceOf(claim, volume, driver);
    if (typeof result === "string") ofClaims.push({ claim, message: result });
    else sources.push(result);
  }
  if (ofClaims.length > 0) return problem(summary(ofClaims.map(({ message }) => message)), ofClaims);
  return uniqueProblem(sources) ?? { sources };
}

function sourceOf(
  claim: PersistentVolumeClaim,
  volume: PersistentVolume | undefined,
  wanted: string | undefined,
): Source | string {
  const { name } = claim.metadata;
  if (isDeleting(claim)) return `claim ${name} is being deleted`;
  const volumeName = claim.spec?.volumeName;
  if (claim.status?.phase !== "Bound" || !volumeName) return `claim ${name} is not bound`;
  if (volume === undefined) return `volume ${volumeName} of claim ${name} does not exist`;
  if (volume.spec?.claimRef?.uid !== claim.metadata.uid)
    return `volume ${volumeName} is not bound to claim ${name}`;
  if (volume.spec?.csi === undefined) return `volume ${volumeName} of claim ${name} is not a CSI volume`;
  const { driver, volumeHandle: handle } = volume.spec.csi;
  if (wanted !== undefined && driver !== wanted)
    return `claim ${name} is of driver ${driver}, the group snapshot is for ${wanted}`;
  return { claim, driver, handle };
}

/** Members are distinguished by their volume, so no two claims may stand for one. */
function uniqueProblem(sources: readonly Source[]): SourceProblem | undefined {
  const first = new Map<string, Source>();
  for (const source of sources) {
    const other = first.get(source.handle);
    if (other !== undefined && other.driver === source.driver)
      return problem(
        `claims ${other.claim.metadata.name} and ${source.claim.metadata.name} are the same volume ${source.handle}`,
      );
    first.set(source.handle, source);
  }
  return undefined;
}

/** Without a class there is only one driver that can be meant. */
export function mixedProblem(sources: readonly Source[]): SourceProblem | undefined {
  const drivers = [...new Set(sources.map(({ driver }) => driver))];
  if (drivers.length < 2) return undefined;
  const ofClaims = sources.map(({ claim, driver }) => ({
    claim,
    message: `claim ${claim.metadata.name} is of driver ${driver}, other claims of the group snapshot are not`,
  }));
  return problem(`the selected claims are of more than one driver: ${drivers.sort().join(", ")}`, ofClaims);
}

function problem(message: string, ofClaims: SourceProblem["ofClaims"] = []): SourceProblem {
  return { message, ofClaims };
}

const MOST_NAMED = 5;

function summary(messages: readonly string[]): string {
  const more = messages.length - MOST_NAMED;
  return messages.slice(0, MOST_NAMED).join("; ") + (more > 0 ? `; and ${more} more` : "");
}
