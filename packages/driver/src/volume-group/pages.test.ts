import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { MOORING_API_VERSION, type VolumeSet, VolumeSets } from "@mooring/engine";
import { covers, howMany } from "@mooring/store/testing";
import { volumeGroupIdOf } from "../names.ts";
import { CREATED_AT } from "../objects/find.ts";
import { type Cluster, startCluster } from "../testing/scripted-node.ts";
import { codeOf } from "../testing/world.ts";

const COUNT = howMany({ everyday: 2_000, full: 10_000 });
let cluster: Cluster;

/** A record as CreateVolumeGroup writes it; ten thousand calls would show no more. */
function record(index: number): VolumeSet {
  const name = volumeGroupIdOf(`g${index}`);
  const createdAt = new Date(Date.UTC(2026, 0, 1) + Math.floor(index / 3)).toISOString();
  return {
    ...{ apiVersion: MOORING_API_VERSION, kind: "VolumeSet" },
    metadata: { name, annotations: { [CREATED_AT]: createdAt } },
    spec: { members: [], generation: 1, request: { name: `g${index}`, parameters: {}, volumeIds: [] } },
  };
}

before(async () => {
  cluster = await startCluster(["a"]);
  for (let index = 0; index < COUNT; index += 500) {
    const batch = Array.from({ length: 500 }, (_, offset) => record(index + offset));
    await Promise.all(batch.map((set) => cluster.store.create(VolumeSets, set)));
  }
});
after(() => cluster.end());

const list = (request: { maxEntries?: number; startingToken?: string }) =>
  cluster.client.volumeGroup.listVolumeGroups(request);
const idsOf = ({ entries }: Awaited<ReturnType<typeof list>>) =>
  entries.map(({ volumeGroup }) => {
    assert.notEqual(volumeGroup?.volumeGroupId ?? "", "", "every entry has a group with an id");
    return volumeGroup?.volumeGroupId ?? "";
  });

async function walk(maxEntries: number, between: () => Promise<void> = async () => {}): Promise<string[]> {
  const seen: string[] = [];
  let startingToken = "";
  do {
    const page = await list({ maxEntries, startingToken });
    assert.ok(page.entries.length <= maxEntries);
    assert.ok(page.entries.length > 0, "no page is empty");
    seen.push(...idsOf(page));
    startingToken = page.nextToken;
    await between();
  } while (startingToken !== "");
  return seen;
}

test(`${COUNT} groups, in pages of any size or all at once, each one once`, async () => {
  covers("GRP-066", "GRP-068", "GRP-069", "GRP-070", "GRP-072", "GRP-074");
  const all = await list({});
  assert.equal(all.nextToken, "");
  const ids = idsOf(all);
  assert.equal(new Set(ids).size, COUNT);
  assert.deepEqual(await walk(999), ids);
  const exact = await list({ maxEntries: COUNT, startingToken: "" });
  assert.equal(exact.nextToken, "", "the last page shows that it is the last");
  const first = await list({ maxEntries: 2 });
  assert.deepEqual(idsOf(first), ids.slice(0, 2));
  assert.notEqual(first.nextToken, "");
  const second = await list({ maxEntries: 3, startingToken: first.nextToken });
  assert.deepEqual(idsOf(second), ids.slice(2, 5), "the next page may have another size");
});

test("what is made or deleted between two pages costs nobody else its place", async () => {
  covers("GRP-066", "GRP-067");
  const before = idsOf(await list({}));
  let round = 0;
  const touched = new Set<string>();
  const seen = await walk(1000, async () => {
    // The group that the next token names, and one that is still to come.
    for (const index of [round * 1000 + 999, Math.min(round * 1000 + 1500, COUNT - 1)]) {
      const id = before[index] ?? "";
      touched.add(id);
      await cluster.client.volumeGroup.deleteVolumeGroup({ volumeGroupId: id });
    }
    await cluster.client.volumeGroup.createVolumeGroup({ name: `new ${round}` });
    round += 1;
  });
  assert.equal(new Set(seen).size, seen.length, "none twice");
  const there = new Set(seen);
  assert.deepEqual(
    before.filter((id) => !there.has(id) && !touched.has(id)),
    [],
  );
});

test("a token that is none of ours is ABORTED, and an empty one starts again", async () => {
  covers("GRP-075", "GRP-076");
  const { nextToken } = await list({ maxEntries: 1 });
  for (const startingToken of ["bogus", "7", `${nextToken}x`, nextToken.slice(1), "\u{1f600}"]) {
    assert.equal(await codeOf(list({ startingToken })), "ABORTED", startingToken);
  }
  assert.equal((await list({ maxEntries: 1, startingToken: "" })).entries.length, 1);
});
