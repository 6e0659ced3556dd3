import assert from "node:assert/strict";
import { test } from "node:test";
import { howMany } from "@mooring/store/testing";
import { groupRestore, put } from "../group-restore/testing/group.ts";
import { VolumeGroupRestores } from "../kube/group-restore.ts";
import type { SidecarOptions } from "../options.ts";
import { Calls } from "../testing/calls.ts";
import { groupWorld, NS } from "../testing/group-world.ts";

const MEMBERS = howMany({ everyday: 20, full: 100 });
interface Cost {
  writes: number;
  reads: number;
  shared?: number;
  /** Writes of the group's own content. */
  content?: Record<string, number>;
}

/** Room for what a group costs whatever is in it: how often progress is reported depends on what is seen together. */
const OF_GROUP = 50;

test(`a group of ${MEMBERS} members costs as many API calls as in docs/reference/costs.md, and one call to the driver`, async (t) => {
  const calls = new Calls();
  const sidecars: Partial<SidecarOptions> = {};
  const w = await groupWorld(t, { sidecars });
  const names = Array.from({ length: MEMBERS }, (_, index) => `c${index}`);
  await w.claims(...names);
  // From here on what the controllers do is counted, and what the test asks is not.
  sidecars.store = calls.counted(w.h.store);
  await w.h.restart();
  await calls.quiet();
  calls.take();

  /** `shared`: writes of a member that several may have in common. */
  const costs = async (what: string, { writes, reads, shared = 0, content = {} }: Cost) => {
    await calls.quiet();
    const spent = calls.take();
    t.diagnostic(`${what}: ${spent.writes} writes, ${spent.reads} reads (${spent.table})`);
    assert.ok(spent.writes >= writes * MEMBERS, `${what}: ${spent.table}`);
    assert.ok(spent.writes <= (writes + shared) * MEMBERS + OF_GROUP, `${what}: ${spent.table}`);
    assert.ok(spent.reads <= reads * MEMBERS + OF_GROUP, `${what}: ${spent.table}`);
    assert.deepEqual(spent.writesOf("volumegroupsnapshotcontents"), content, what);
  };

  await w.create("group");
  await w.ready();
  await costs("create", { writes: 4, reads: 0, content: { create: 1, patch: 1 } });
  assert.equal(w.h.driver.called("CreateVolumeGroupSnapshot"), 1);

  await put(w.h.store, VolumeGroupRestores, groupRestore({ source: { volumeGroupSnapshotName: "group" } }));
  await w.h.until("it is restored", async () =>
    (await w.h.find(VolumeGroupRestores, "again", NS))?.status?.conditions?.some(
      ({ type, status }) => type === "Ready" && status === "True",
    ),
  );
  await costs("restore", { writes: 4, shared: 2, reads: 0 });

  await w.remove();
  await w.gone();
  await costs("delete", { writes: 5, reads: 2, content: { patch: 2, delete: 1 } });
  assert.equal(w.h.driver.called("DeleteVolumeGroupSnapshot"), 1);
  assert.equal(w.h.driver.called("DeleteSnapshot"), 0);
});
