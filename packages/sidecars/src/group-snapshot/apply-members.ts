import { allInParallel, failpoint, VolumeSnapshotContents, VolumeSnapshots } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { deleteObject, patchObject, patchStatus } from "../kube/patch.ts";
import type { MemberWrite } from "./member-writes.ts";

const failpoints: Readonly<Record<MemberWrite["write"], () => void>> = {
  "create-content": failpoint("sidecars/group-snapshot/member-content-created"),
  "create-snapshot": failpoint("sidecars/group-snapshot/member-created"),
  "patch-content": failpoint("sidecars/group-snapshot/member-content-changed"),
  "patch-snapshot": failpoint("sidecars/group-snapshot/member-changed"),
  "content-status": failpoint("sidecars/group-snapshot/member-content-status-written"),
  "snapshot-status": failpoint("sidecars/group-snapshot/member-status-written"),
  "delete-content": failpoint("sidecars/group-snapshot/member-content-deleted"),
  "delete-snapshot": failpoint("sidecars/group-snapshot/member-deleted"),
};

/** Makes the changes, which do not depend on each other. Throws the first failure when all have been tried. */
export async function writeMembers(context: SidecarContext, writes: readonly MemberWrite[]): Promise<void> {
  await allInParallel(writes, async (write) => {
    await writeMember(context, write);
    failpoints[write.write]();
  });
}

async function writeMember({ cluster, events, store }: SidecarContext, write: MemberWrite): Promise<void> {
  const { contents, snapshots } = cluster;
  switch (write.write) {
    case "create-content":
      return void contents.wrote(await store.create(VolumeSnapshotContents, write.content));
    case "create-snapshot":
      return void snapshots.wrote(await store.create(VolumeSnapshots, write.snapshot));
    case "patch-content":
      return void (await patchObject(store, contents, write.content, write.body));
    case "patch-snapshot":
      return void (await patchObject(store, snapshots, write.snapshot, write.body));
    case "content-status":
      return void (await patchStatus(store, contents, write.content, write.status));
    case "snapshot-status":
      await patchStatus(store, snapshots, write.snapshot, write.status);
      if (write.reported !== undefined)
        events.event(write.snapshot, "Warning", "SnapshotDeletePending", write.reported);
      return;
    case "delete-content":
      return deleteObject(store, contents, write.content);
    case "delete-snapshot":
      return deleteObject(store, snapshots, write.snapshot);
  }
}
