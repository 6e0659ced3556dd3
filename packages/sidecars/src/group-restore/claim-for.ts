import { defined, type PersistentVolumeClaim, SNAPSHOT_GROUP } from "@mooring/store";
import { WANTED_GROUP } from "../common/volume-group-names.ts";
import {
  type MemberStatus,
  RESTORE_LABEL,
  RESTORE_UID,
  type VolumeGroupRestore,
} from "../kube/group-restore.ts";

/**
 * The claim of one member. It has no owner: what has been restored is the user's data, and must not go when a user
 * tidies up the request for it.
 */
export function claimFor(restore: VolumeGroupRestore, member: MemberStatus): PersistentVolumeClaim {
  const own = restore.spec.members?.find(({ claim }) => claim === member.sourceClaim);
  const { name, namespace, uid = "" } = restore.metadata;
  const group = restore.spec.volumeGroup?.name;
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: {
      name: member.claimName,
      ...defined({ namespace }),
      labels: { ...restore.spec.defaults?.labels, ...own?.labels, [RESTORE_LABEL]: name },
      annotations: {
        [RESTORE_UID]: uid,
        // Born into its group: no other may take it before that does.
        ...(group === undefined ? {} : { [WANTED_GROUP]: group }),
      },
    },
    spec: {
      accessModes: member.accessModes,
      volumeMode: member.volumeMode,
      resources: { requests: { storage: member.size } },
      storageClassName: member.storageClassName,
      dataSource: { apiGroup: SNAPSHOT_GROUP, kind: "VolumeSnapshot", name: member.snapshotName },
    },
  };
}
