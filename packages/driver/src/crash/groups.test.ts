import assert from "node:assert/strict";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import type { CsiClient } from "@mooring/csi";
import { createHost, ENGINE_KINDS, type Volume, VolumeSets, Volumes } from "@mooring/engine";
import { failpointNames, LocalStore, ResourceRegistry } from "@mooring/store";
import "../index.ts";
import { bundleProgram, covers, eventually, killEveryFailpoint } from "@mooring/store/testing";
import { capability, cleanUp, MIB } from "../testing/world.ts";
import { GROUP_FAILPOINT } from "./group-failpoints.ts";
import { Supervisor } from "./supervisor.ts";

const bundle = await bundleProgram(new URL("child.ts", import.meta.url));
after(bundle.remove);
const host = createHost();

/** How often the life below reaches a failpoint; the others once. */
const PASSINGS: Readonly<Record<string, number>> = {
  "driver/volume-group/change-announced": 5,
  "driver/volume-group/volume-claimed": 6,
  "driver/volume-group/change-committed": 4,
  "driver/volume-group/volume-released": 3,
};
const names = failpointNames().filter((name) => GROUP_FAILPOINT.test(name));
const failpoints = names.flatMap((name) =>
  Array.from({ length: PASSINGS[name] ?? 1 }, (_, index) => `${name}#${index + 1}`),
);

/** Members of the only group, sorted; undefined: no group is there. */
async function membersNow({ volumeGroup }: CsiClient): Promise<string[] | undefined> {
  const { entries } = await volumeGroup.listVolumeGroups({});
  assert.ok(entries.length <= 1);
  const [group] = entries;
  if (group === undefined) return undefined;
  const volumeGroupId = group.volumeGroup?.volumeGroupId ?? "";
  const got = await volumeGroup.controllerGetVolumeGroup({ volumeGroupId });
  const ids = got.volumeGroup?.volumes.map(({ volumeId }) => volumeId).sort();
  assert.deepEqual(group.volumeGroup?.volumes.map(({ volumeId }) => volumeId).sort(), ids);
  return ids;
}

/** Makes a call until it returns. Before each attempt the group is as it was, or as it is asked to be: never between. */
function change(
  supervisor: Supervisor,
  from: string[] | undefined,
  to: string[] | undefined,
  call: (client: CsiClient) => Promise<unknown>,
): Promise<void> {
  const text = (ids: string[] | undefined) =>
    JSON.stringify(ids === undefined ? "no group" : [...ids].sort());
  return supervisor.call(async (client) => {
    const now = text(await membersNow(client));
    assert.ok([text(from), text(to)].includes(now), `${now} is neither ${text(from)} nor ${text(to)}`);
    await call(client);
    assert.equal(text(await membersNow(client)), text(to));
  });
}

const create = (supervisor: Supervisor, name: string): Promise<string> =>
  supervisor.call(async ({ controller }) => {
    const capacityRange = { requiredBytes: 64n * MIB };
    const volumeCapabilities = [capability({ access: "block" })];
    const { volume } = await controller.createVolume({ name, capacityRange, volumeCapabilities });
    return volume?.volumeId ?? "";
  });

/** A group's whole life: made with two members, one changed, emptied, filled, deleted with all its volumes. */
async function life(supervisor: Supervisor): Promise<void> {
  const [a = "", b = "", c = ""] = await Promise.all(["a", "b", "c"].map((name) => create(supervisor, name)));
  let volumeGroupId = "";
  await change(supervisor, undefined, [a, b], async ({ volumeGroup: groups }) => {
    const { volumeGroup } = await groups.createVolumeGroup({ name: "g", volumeIds: [a, b] });
    volumeGroupId = volumeGroup?.volumeGroupId ?? "";
  });
  const modify = (from: string[], volumeIds: string[]) =>
    change(supervisor, from, volumeIds, ({ volumeGroup: groups }) =>
      groups.modifyVolumeGroupMembership({ volumeGroupId, volumeIds }),
    );
  await modify([a, b], [b, c]);
  await modify([b, c], []);
  await modify([], [a, b, c]);
  await assert.rejects(
    supervisor.call(({ controller }) => controller.deleteVolume({ volumeId: a })),
    /cannot be deleted alone/,
  );
  await change(supervisor, [a, b, c], undefined, ({ volumeGroup: groups }) =>
    groups.deleteVolumeGroup({ volumeGroupId }),
  );
  await supervisor.call(({ volumeGroup: groups }) => groups.deleteVolumeGroup({ volumeGroupId }));
  assert.deepEqual((await supervisor.call((client) => client.controller.listVolumes({}))).entries, []);
}

/** The objects that a driver has left behind when it is stopped. */
async function leftIn(folder: string): Promise<{ sets: number; marked: Volume[] }> {
  const registry = new ResourceRegistry(ENGINE_KINDS.map((resource) => ({ resource, hasStatus: true })));
  const store = await LocalStore.open({ path: join(folder, "state", "store"), registry });
  try {
    const { items } = await store.list(Volumes);
    const sets = (await store.list(VolumeSets)).items.length;
    return { sets, marked: items.filter(({ spec }) => spec.group !== undefined) };
  } finally {
    await store.close();
  }
}

describe("volume groups of a driver that is killed between any two steps", { concurrency: 2 }, () => {
  killEveryFailpoint(failpoints, { everyday: 1, full: 8 }, (failpoint) => {
    test(`${failpoint}: the membership is the old one or the new one, and the repeated call ends it`, {
      timeout: 600_000,
    }, async () => {
      covers("GRP-087");
      const supervisor = await Supervisor.start(bundle.path, failpoint);
      try {
        await life(supervisor);
        assert.equal(await supervisor.stop(), 0);
        assert.equal(supervisor.kills, 1, "the failpoint was reached");
        assert.deepEqual(await leftIn(supervisor.folder), { sets: 0, marked: [] });
      } finally {
        await supervisor.stop();
        await cleanUp(host, supervisor.folder);
      }
    });
  });
});

describe("volume groups of a caller that never comes again after the kill", { concurrency: 2 }, () => {
  killEveryFailpoint(names, { everyday: 1, full: 4 }, (failpoint) => {
    test(`${failpoint}: the volumes are free, or in the group, or gone with it; nothing is between`, {
      timeout: 600_000,
    }, async () => {
      const supervisor = await Supervisor.start(bundle.path, failpoint);
      try {
        const ids = await Promise.all(["a", "b"].map((name) => create(supervisor, name)));
        await abandoned(supervisor, ids);
        assert.equal(supervisor.kills, 1, "the failpoint was reached");
        assert.equal(await supervisor.stop(), 0);
        assert.deepEqual(await leftIn(supervisor.folder), { sets: 0, marked: [] });
      } finally {
        await supervisor.stop();
        await cleanUp(host, supervisor.folder);
      }
    });
  });
});

/** Calls one after the other until one is interrupted; after it, what a caller who knows nothing of it does. */
async function abandoned(supervisor: Supervisor, ids: string[]): Promise<void> {
  const deleted = await interrupted(supervisor, ids);
  const sees = await supervisor.call(membersNow);
  if (deleted !== undefined) {
    await vanish(supervisor, ids);
    // The record of the group goes after its volumes: who deletes it again waits until that is done.
    await supervisor.call((client) => client.volumeGroup.deleteVolumeGroup({ volumeGroupId: deleted }));
    return;
  }
  const { entries } = await supervisor.call((client) => client.volumeGroup.listVolumeGroups({}));
  const volumeGroupId = entries[0]?.volumeGroup?.volumeGroupId ?? "";
  if (volumeGroupId !== "") {
    await supervisor.call((client) => client.volumeGroup.modifyVolumeGroupMembership({ volumeGroupId }));
    await supervisor.call((client) => client.volumeGroup.deleteVolumeGroup({ volumeGroupId }));
  }
  assert.ok(sees === undefined || sees.length === 0 || sees.length === 2, String(sees));
  // Another group gets them, and one is deleted alone when it has left that.
  const made = await supervisor.call((client) =>
    client.volumeGroup.createVolumeGroup({ name: "other", volumeIds: ids }),
  );
  const other = made.volumeGroup?.volumeGroupId ?? "";
  const kept = { volumeGroupId: other, volumeIds: ids.slice(1) };
  await supervisor.call((client) => client.volumeGroup.modifyVolumeGroupMembership(kept));
  await supervisor.call((client) => client.controller.deleteVolume({ volumeId: ids[0] ?? "" }));
  await supervisor.call((client) => client.volumeGroup.deleteVolumeGroup({ volumeGroupId: other }));
}

/** The group's id when it was the deletion that was interrupted. */
async function interrupted(supervisor: Supervisor, volumeIds: string[]): Promise<string | undefined> {
  let volumeGroupId = "";
  const calls: ((client: CsiClient) => Promise<unknown>)[] = [
    async ({ volumeGroup: groups }) => {
      const { volumeGroup } = await groups.createVolumeGroup({ name: "g", volumeIds });
      volumeGroupId = volumeGroup?.volumeGroupId ?? "";
    },
    ({ volumeGroup: groups }) => groups.modifyVolumeGroupMembership({ volumeGroupId }),
    ({ volumeGroup: groups }) => groups.modifyVolumeGroupMembership({ volumeGroupId, volumeIds }),
    ({ volumeGroup: groups }) => groups.deleteVolumeGroup({ volumeGroupId }),
  ];
  for (const [index, call] of calls.entries()) {
    if (await supervisor.once(call)) continue;
    return index === calls.length - 1 ? volumeGroupId : undefined;
  }
  assert.fail("no call was interrupted");
}

/** What is decided is carried out by the next start alone. */
async function vanish(supervisor: Supervisor, ids: string[]): Promise<void> {
  await eventually("the volumes of a deleted group to be gone", async () => {
    const { entries } = await supervisor.call((client) => client.controller.listVolumes({}));
    return !entries.some(({ volume }) => ids.includes(volume?.volumeId ?? ""));
  });
}
