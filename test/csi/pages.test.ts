import assert from "node:assert/strict";
import { test } from "node:test";
import { covers, sample } from "@mooring/store/testing";
import { startDriver } from "./support/driver.ts";
import { createSnapshot, fails, remove, volumeId } from "./support/volumes.ts";

const driver = await startDriver();
const kinds = {
  volumes: {
    list: async (request: object) => {
      const { entries, nextToken } = await driver.controller.listVolumes(request);
      return { ids: entries.map(({ volume }) => volume?.volumeId ?? ""), nextToken };
    },
    make: (name: string) => volumeId(driver, name),
    remove: (id: string) => remove(driver, id),
  },
  snapshots: {
    list: async (request: object) => {
      const { entries, nextToken } = await driver.controller.listSnapshots(request);
      return { ids: entries.map(({ snapshot }) => snapshot?.snapshotId ?? ""), nextToken };
    },
    make: async (name: string) =>
      (await createSnapshot(driver, name, await volumeId(driver, "source"))).snapshotId,
    remove: async (snapshotId: string) => void (await driver.controller.deleteSnapshot({ snapshotId })),
  },
};

for (const [kind, { list, make, remove: drop }] of sample(Object.entries(kinds), { everyday: 1 })) {
  test(`${kind}: pages of any size have all of them, once`, async () => {
    covers("CSI-184", "CSI-185", "CSI-186", "CSI-187", "CSI-190", "CSI-234", "CSI-235", "CSI-237");
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.push(await make(`${kind} ${n}`));
    assert.deepEqual(await list({}), { ids, nextToken: "" });
    assert.deepEqual(await list({ maxEntries: 5 }), { ids, nextToken: "" });
    for (const maxEntries of [1, 2, 3, 4]) {
      const seen: string[] = [];
      let startingToken = "";
      do {
        const page = await list({ maxEntries, startingToken });
        assert.ok(page.ids.length > 0 && page.ids.length <= maxEntries);
        seen.push(...page.ids);
        startingToken = page.nextToken;
      } while (startingToken !== "");
      assert.deepEqual(seen, ids);
    }
    for (const id of ids) await drop(id);
  });

  test(`${kind}: a token outlives a restart, and whatever is added or deleted meanwhile`, async () => {
    covers("CSI-186", "CSI-190", "CSI-363");
    const ids: string[] = [];
    for (let n = 0; n < 4; n += 1) ids.push(await make(`${kind} ${n}`));
    const { nextToken } = await list({ maxEntries: 2 });
    await drop(ids[1] ?? "");
    await driver.restart();
    const added = await make(`${kind} added`);
    const rest = await list({ startingToken: nextToken });
    assert.deepEqual(rest, { ids: [...ids.slice(2), added], nextToken: "" });
    for (const id of [...ids, added]) await drop(id);
  });

  test(`${kind}: a token that is not ours is ABORTED, a negative page size INVALID_ARGUMENT`, async () => {
    covers("CSI-031", "CSI-188", "CSI-191", "CSI-236", "CSI-240");
    const id = await make(`${kind} one`);
    const other = await make(`${kind} two`);
    const { nextToken } = await list({ maxEntries: 1 });
    for (const startingToken of ["bogus", `${nextToken}A`, nextToken.slice(1), "\u00e9", "=".repeat(100)]) {
      await fails("ABORTED", list({ startingToken }), /starting_token/);
    }
    await fails("INVALID_ARGUMENT", list({ maxEntries: -1 }), /max_entries/);
    for (const each of [id, other]) await drop(each);
  });
}

test("the volume behind the snapshots goes", async () => {
  await remove(driver, await volumeId(driver, "source"));
  assert.deepEqual((await driver.controller.listVolumes({})).entries, []);
});
