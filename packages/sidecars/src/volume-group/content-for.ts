import { apiVersionOf, defined } from "@mooring/store";
import { contentNameOf, VOLUME_GROUP_CONTENT_FINALIZER } from "../common/volume-group-names.ts";
import {
  type VolumeGroup,
  type VolumeGroupClass,
  type VolumeGroupContent,
  VolumeGroupContents,
} from "../kube/volume-group.ts";
import { driverParameters, groupSecretOf } from "./secrets.ts";

/**
 * The content of a group that is to be made: all that its whole life needs, so that class and secret may go. Throws
 * TemplateError for a class whose templates are not valid.
 */
export function contentFor(group: VolumeGroup, groupClass: VolumeGroupClass): VolumeGroupContent {
  const name = contentNameOf(group);
  const { name: groupName, namespace = "", uid = "" } = group.metadata;
  const { deleteMembers, deletionPolicy, driftPolicy, driver, maxMembers, metadata } = groupClass;
  const secretRef = groupSecretOf(groupClass, name, group);
  const parameters = driverParameters(groupClass);
  return {
    apiVersion: apiVersionOf(VolumeGroupContents),
    kind: "VolumeGroupContent",
    metadata: { name, finalizers: [VOLUME_GROUP_CONTENT_FINALIZER] },
    spec: {
      driver,
      deletionPolicy,
      ...defined({ deleteMembers, driftPolicy, maxMembers }),
      volumeGroupClassName: metadata.name,
      ...(Object.keys(parameters).length === 0 ? {} : { parameters }),
      ...defined({ secretRef }),
      volumeGroupRef: { name: groupName, namespace, uid },
    },
  };
}

/** A content is for one group: one that has its name but not its uid has come later. */
export function isFor(
  { spec: { volumeGroupRef: ref } }: VolumeGroupContent,
  { metadata }: VolumeGroup,
): boolean {
  const isNamed = ref.name === metadata.name && ref.namespace === metadata.namespace;
  return isNamed && (ref.uid === undefined || ref.uid === metadata.uid);
}
