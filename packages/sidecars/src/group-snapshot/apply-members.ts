import { failpoint, VolumeSnapshotContents, VolumeSnapshots } from "@mooring/store";
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

/** Requests under way at the same time: a hundred members one after the other take too long. */
const AT_ONCE = 8;

/** Makes the changes, which do not depend on each other. Throws the first failure when all have been tried. */
export async function writeMembers(context: SidecarContext, writes: readonly MemberWrite[]): Promise<void> {
  const failures = await inParallel(writes, async (write) => {
    await writeMember(context, write);
    failpoints[write.write]();
  });
  if (failures.length > 0) throw failures[0];
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

/** Runs all, a few at a time; returns what they threw. */
export async function inParallel<T>(
  items: readonly T[],
  run: (item: T) => Promise<void>,
): Promise<unknown[]> {
  const failures: unknown[] = [];
  const rest = [...items];
  const worker = async (): Promise<void> => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift())
      await run(item).catch((error: unknown) => failures.push(error));
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, worker));
  return failures;
}
