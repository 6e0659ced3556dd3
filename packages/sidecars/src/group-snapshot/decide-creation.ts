import {
  DONE,
  hasFinalizer,
  type Outcome,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotClass,
} from "@mooring/store";
import { DEFAULT_GROUP_CLASS, GROUP_FINALIZER } from "../common/names.ts";
import { TemplateError } from "../secrets/references.ts";
import { groupContentFor } from "./content-for.ts";
import { isFreezeOver, isFrozenFor, namedGroupProblem } from "./of-volume-group.ts";
import { chooseSources, mixedProblem, type Source, selectorOf } from "./sources.ts";
import {
  type GroupSnapshotStep,
  type GroupSnapshotView,
  type NamedGroup,
  type ReportStep,
  report,
} from "./view.ts";

/**
 * A group snapshot without a content: everything is checked before anything is made. The class is not written into the
 * user's object: the content records which one it was.
 */
export function decideCreation(
  view: GroupSnapshotView,
  group: VolumeGroupSnapshot,
): GroupSnapshotStep | Outcome {
  const { named } = view;
  const wrong = named === undefined ? selectorProblem(group) : namedGroupProblem(named, group);
  if (wrong !== undefined) return wrong;
  const chosen = chooseSources(view.candidates, view.groupClass?.driver);
  if (!("sources" in chosen))
    return report("GroupSnapshotContentCreationFailed", chosen.message, chosen.ofClaims);
  const { sources } = chosen;
  const groupClass = classFor(view, group, sources);
  if ("do" in groupClass) return groupClass;
  try {
    const content = groupContentFor(group, groupClass, sources);
    if (!hasFinalizer(group, GROUP_FINALIZER)) return { do: "add-finalizer" };
    if (named !== undefined && !isFrozenFor(named, group)) return askForFreeze(named, group);
    return { do: "create-content", content };
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    return report("CreateGroupSnapshotContentFailed", error.message);
  }
}

function selectorProblem(group: VolumeGroupSnapshot): ReportStep | undefined {
  const selector = selectorOf(group);
  return "error" in selector ? report("GroupSnapshotValidationError", selector.error) : undefined;
}

/**
 * The members are read from the same status that reports the freeze, so they are those of the moment of the snapshot. The
 * finalizer asks for it; an error of an earlier attempt has given it up, and so has one that took too long.
 */
function askForFreeze(named: NamedGroup, group: VolumeGroupSnapshot): GroupSnapshotStep | Outcome {
  const isOver = group.status?.error !== undefined || isFreezeOver(named, group);
  return isOver ? { do: "ask-again" } : DONE;
}

function classFor(
  { classes, groupClass }: GroupSnapshotView,
  { spec: { volumeGroupSnapshotClassName: name } }: VolumeGroupSnapshot,
  sources: readonly Source[],
): VolumeGroupSnapshotClass | ReportStep {
  if (name !== undefined)
    return (
      groupClass ?? report("GetGroupSnapshotClassFailed", `volumegroupsnapshotclass ${name} does not exist`)
    );
  const mixed = mixedProblem(sources);
  if (mixed !== undefined) return report("SetDefaultGroupSnapshotClassFailed", mixed.message, mixed.ofClaims);
  const driver = sources[0]?.driver ?? "";
  const defaults = classes.filter(
    ({ driver: of, metadata }) => of === driver && metadata.annotations?.[DEFAULT_GROUP_CLASS] === "true",
  );
  const [only] = defaults;
  if (only !== undefined && defaults.length === 1) return only;
  return report(
    "SetDefaultGroupSnapshotClassFailed",
    only === undefined
      ? `cannot find a default group snapshot class for driver ${driver}: name one in spec.volumeGroupSnapshotClassName`
      : `${defaults.length} default group snapshot classes were found for driver ${driver}: ${defaults.map(({ metadata }) => metadata.name).join(", ")}`,
  );
}
