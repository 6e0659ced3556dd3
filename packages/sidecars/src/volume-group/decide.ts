import { DONE, hasFinalizer, isDeleting } from "@mooring/store";
import {
  GROUP_DRIVER,
  VOLUME_GROUP_CONTENT_FINALIZER,
  VOLUME_GROUP_FINALIZER,
} from "../common/volume-group-names.ts";
import type { VolumeGroup, VolumeGroupContent } from "../kube/volume-group.ts";
import { withContentConditions } from "./content-conditions.ts";
import { contentFor, isFor } from "./content-for.ts";
import { decideBound } from "./decide-bound.ts";
import { decideEnd } from "./decide-end.ts";
import { freezeMessage, frozenFor } from "./freeze.ts";
import { report } from "./report.ts";
import { type Conditions, ending, obstacle } from "./status.ts";
import type { Decision } from "./step.ts";
import type { VolumeGroupView } from "./view.ts";

/** The next step for one VolumeGroup and its content, or for a content that is left of one. */
export function decideVolumeGroup(view: VolumeGroupView): Decision {
  const decision = decideStep(view);
  return view.content === undefined ? decision : withContentConditions(view, view.content, decision);
}

function decideStep(view: VolumeGroupView): Decision {
  const { group } = view;
  if (group === undefined) return decideEnd(view);
  const isOurs = ownership(view, group);
  if (isOurs === false) return DONE;
  if (isDeleting(group)) return isOurs === undefined ? DONE : (frozen(view, group) ?? decideEnd(view));
  if (isOurs === undefined) return unknownDriver(view, group);
  return decideLive(view, group);
}

/** A group whose snapshot is being made is not emptied meanwhile. */
function frozen(view: VolumeGroupView, group: VolumeGroup): Decision | undefined {
  const freezes = frozenFor(group, view.freezes);
  return freezes.length === 0
    ? undefined
    : report(view, ending(`the group is being deleted: ${freezeMessage(freezes)}`, undefined));
}

/** Undefined: it is not known yet which driver's group it is. */
function ownership(
  { content, driver, groupClass }: VolumeGroupView,
  group: VolumeGroup,
): boolean | undefined {
  const marked = group.metadata.annotations?.[GROUP_DRIVER];
  const isImport = group.spec.source.volumeGroupContentName !== undefined;
  const of = marked ?? (isImport ? content?.spec.driver : groupClass?.driver);
  return of === undefined ? undefined : of === driver;
}

function unknownDriver(view: VolumeGroupView, { spec }: VolumeGroup): Decision {
  const { source, volumeGroupClassName: name } = spec;
  if (source.volumeGroupContentName !== undefined)
    return report(
      view,
      obstacle("ContentMissing", `VolumeGroupContent ${source.volumeGroupContentName} does not exist`),
    );
  const message =
    name === undefined
      ? "there is no default VolumeGroupClass: mark one, or delete the group and name one in spec.volumeGroupClassName"
      : `VolumeGroupClass ${name} does not exist`;
  return report(view, obstacle("ClassMissing", message));
}

function decideLive(view: VolumeGroupView, group: VolumeGroup): Decision {
  const { content } = view;
  const isImport = group.spec.source.volumeGroupContentName !== undefined;
  const wrong = isImport ? wrongImport(view, group, content) : wrongClass(view, group, content);
  if (wrong !== undefined) return report(view, wrong);
  const isMarked = group.metadata.annotations?.[GROUP_DRIVER] === view.driver;
  if (!isMarked || !hasFinalizer(group, VOLUME_GROUP_FINALIZER)) return { do: "add-finalizer" };
  if (content === undefined) {
    // Checked above: a group without a content has a class that one can be made of.
    const groupClass = view.groupClass;
    return groupClass === undefined ? DONE : { do: "create-content", content: contentFor(group, groupClass) };
  }
  const isBound =
    content.spec.volumeGroupRef.uid !== undefined && hasFinalizer(content, VOLUME_GROUP_CONTENT_FINALIZER);
  if (!isBound) return isDeleting(content) ? report(view, contentGoes(content)) : { do: "bind-content" };
  return decideBound(view, group, content);
}

const contentGoes = ({ metadata }: VolumeGroupContent): Conditions =>
  obstacle("ContentDeleting", `VolumeGroupContent ${metadata.name} is being deleted`);

function wrongImport(
  { canGetGroup, driver }: VolumeGroupView,
  group: VolumeGroup,
  content: VolumeGroupContent | undefined,
): Conditions | undefined {
  const name = group.spec.source.volumeGroupContentName;
  if (content === undefined) return obstacle("ContentMissing", `VolumeGroupContent ${name} does not exist`);
  const mismatch = (what: string) => obstacle("ContentMismatch", `VolumeGroupContent ${name} ${what}`);
  const { source, volumeGroupRef } = content.spec;
  if (content.spec.driver !== driver) return mismatch(`is of driver ${content.spec.driver}`);
  if (!isFor(content, group))
    return mismatch(
      `is for VolumeGroup ${volumeGroupRef.namespace}/${volumeGroupRef.name}, or one that is gone`,
    );
  if (source === undefined && content.status?.volumeGroupHandle === undefined)
    return mismatch("names no group of the storage system (spec.source.volumeGroupHandle)");
  if (!canGetGroup) return mismatch("cannot be brought in: the driver can neither get nor list groups");
  return undefined;
}

function wrongClass(
  { driver, groupClass }: VolumeGroupView,
  group: VolumeGroup,
  content: VolumeGroupContent | undefined,
): Conditions | undefined {
  if (content !== undefined)
    return content.spec.driver === driver && isFor(content, group)
      ? undefined
      : obstacle(
          "ContentMismatch",
          `VolumeGroupContent ${content.metadata.name} exists and is not of this group`,
        );
  if (groupClass === undefined)
    return obstacle("ClassMissing", `VolumeGroupClass ${group.spec.volumeGroupClassName} does not exist`);
  if (groupClass.driver !== driver)
    return obstacle(
      "ClassMismatch",
      `the class is of driver ${groupClass.driver}, the group is of ${driver}`,
    );
  try {
    contentFor(group, groupClass);
    return undefined;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return obstacle("ClassInvalid", `VolumeGroupClass ${groupClass.metadata.name}: ${why}`);
  }
}
