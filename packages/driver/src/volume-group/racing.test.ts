import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type CsiClient, CsiError, connect, createServer } from "@mooring/csi";
import { createHost, VolumeSets, Volumes } from "@mooring/engine";
import { mutate, silentLogger } from "@mooring/store";
import { covers, howMany } from "@mooring/store/testing";
import { createDriver } from "../driver.ts";
import { type Cluster, startCluster } from "../testing/scripted-node.ts";
import { capability, codeOf, failureOf } from "../testing/world.ts";

/** Two controllers on one store, as while one replaces the other: each has locks of its own. */
let cluster: Cluster;
let clients: CsiClient[];
const endings: (() => Promise<unknown>)[] = [];
before(async () => {
  cluster = await startCluster(["a"]);
  const folder = await mkdtemp(join(tmpdir(), "mooring-second-"));
  const endpoint = `unix://${join(folder, "csi.sock")}`;
  const { store } = cluster;
  const rest = { nodeID: "", mode: "controller", stateDir: folder, logger: silentLogger } as const;
  const server = createServer(createDriver({ store, host: createHost(), ...rest }), { endpoint });
  await server.start();
  const second = await connect(endpoint, { timeoutMs: 60_000 });
  clients = [cluster.client, second];
  endings.push(
    async () => second.close(),
    () => server.stop(0),
    () => rm(folder, { recursive: true }),
  );
});
after(async () => {
  for (const end of endings) await end();
  await cluster.end();
});

/** How often each race is run. */
const ROUNDS = howMany({ everyday: 3, full: 30 });

const volume = async (name: string): Promise<string> => {
  const volumeCapabilities = [capability()];
  const { volume: made } = await cluster.client.controller.createVolume({ name, volumeCapabilities });
  return made?.volumeId ?? "";
};
const volumes = (names: string[]) => Promise.all(names.map(volume));
const make = async (name: string, volumeIds: string[] = [], client = cluster.client) =>
  (await client.volumeGroup.createVolumeGroup({ name, volumeIds })).volumeGroup;
const read = async (volumeGroupId: string) =>
  (await cluster.client.volumeGroup.controllerGetVolumeGroup({ volumeGroupId })).volumeGroup;
const membersOf = async (volumeGroupId: string) =>
  (await read(volumeGroupId))?.volumes.map(({ volumeId }) => volumeId) ?? [];

test("expected-generation: only who has seen the last change makes the next one", async () => {
  const [a = "", b = ""] = await volumes(["cas-a", "cas-b"]);
  const made = await make("cas", [a]);
  const volumeGroupId = made?.volumeGroupId ?? "";
  const modify = (volumeIds: string[], expected: string) =>
    cluster.client.volumeGroup.modifyVolumeGroupMembership({
      ...{ volumeGroupId, volumeIds, parameters: { "expected-generation": expected } },
    });
  const { volumeGroup } = await modify([a, b], "1");
  assert.equal(volumeGroup?.volumeGroupContext["generation"], "2");
  const { code, message } = await failureOf(modify([b], "1"));
  assert.deepEqual([code, /is of generation 2, not 1/.test(message)], ["ABORTED", true], message);
  assert.deepEqual(await membersOf(volumeGroupId), [a, b].sort());
  assert.deepEqual((await modify([b, a], "1")).volumeGroup, volumeGroup, "a repeat is no change");
  for (const expected of ["", "0", "two", "-1"]) {
    assert.equal(await codeOf(modify([b], expected)), "INVALID_ARGUMENT", expected);
  }
  const unknown = { volumeGroupId, volumeIds: [b], parameters: { colour: "red" } };
  const refused = await failureOf(cluster.client.volumeGroup.modifyVolumeGroupMembership(unknown));
  assert.match(refused.message, /"colour" is not known.*expected-generation/);
});

test("of two controllers that change one group from the same generation, one does", async () => {
  const ids = await volumes(["two-a", "two-b", "two-c"]);
  const [a = "", b = "", c = ""] = ids;
  for (let round = 0; round < ROUNDS; round++) {
    const made = await make(`two ${round}`, [a]);
    const volumeGroupId = made?.volumeGroupId ?? "";
    const parameters = { "expected-generation": "1" };
    const sets = [
      [a, b],
      [a, c],
    ];
    const codes = await Promise.all(
      clients.map((client, index) => {
        const request = { volumeGroupId, volumeIds: sets[index] ?? [], parameters };
        return codeOf(client.volumeGroup.modifyVolumeGroupMembership(request));
      }),
    );
    assert.ok(
      codes.every((code) => code === "OK" || code === "ABORTED"),
      codes.join(),
    );
    assert.ok(codes.filter((code) => code === "OK").length <= 1, "no change is lost");
    const winner = codes.indexOf("OK");
    assert.deepEqual(await membersOf(volumeGroupId), [...(sets[winner] ?? [a])].sort());
    await cluster.client.volumeGroup.modifyVolumeGroupMembership({ volumeGroupId });
    await cluster.client.volumeGroup.deleteVolumeGroup({ volumeGroupId });
  }
});

test("two controllers want the same volumes for two groups: each is in one of them or in none, and no group has half", async () => {
  covers("GRP-084", "GRP-087");
  const ids = await volumes(["both-a", "both-b", "both-c", "both-d"]);
  const groupIds = await Promise.all(
    ["left", "right"].map(async (n) => (await make(n))?.volumeGroupId ?? ""),
  );
  const wins = [0, 0];
  for (let round = 0; round < ROUNDS; round++) {
    const codes = await Promise.all(
      clients.map((client, index) => {
        const volumeIds = index === 0 ? ids : [...ids].reverse();
        const request = { volumeGroupId: groupIds[index] ?? "", volumeIds };
        return codeOf(client.volumeGroup.modifyVolumeGroupMembership(request));
      }),
    );
    const sizes = await Promise.all(groupIds.map(async (id) => (await membersOf(id)).length));
    for (const [index, code] of codes.entries()) {
      assert.ok(["OK", "ABORTED", "FAILED_PRECONDITION"].includes(code), code);
      assert.equal(sizes[index], code === "OK" ? ids.length : 0);
      if (code === "OK") wins[index] = (wins[index] ?? 0) + 1;
    }
    for (const volumeGroupId of groupIds) {
      await cluster.client.volumeGroup.modifyVolumeGroupMembership({ volumeGroupId });
    }
  }
  assert.ok((wins[0] ?? 0) + (wins[1] ?? 0) > 0, "somebody gets on");
  const { items } = await cluster.store.list(Volumes);
  assert.deepEqual(
    items.filter(({ spec, metadata }) => ids.includes(metadata.name) && spec.group),
    [],
  );
});

test("a group is deleted while its member is published elsewhere: one of the two is refused, never neither", async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const [id = "", other = ""] = await volumes([`race-${round}`, `race-too-${round}`]);
    const volumeGroupId = (await make(`race ${round}`, [id, other]))?.volumeGroupId ?? "";
    const [first, second] = clients;
    const publish = { volumeId: id, nodeId: "a", volumeCapability: capability() };
    const [deleted, published] = await Promise.all([
      codeOf(first?.volumeGroup.deleteVolumeGroup({ volumeGroupId }) ?? Promise.reject()),
      codeOf(second?.controller.controllerPublishVolume(publish) ?? Promise.reject()),
    ]);
    if (published === "OK") {
      assert.notEqual(deleted, "OK");
      assert.deepEqual(await membersOf(volumeGroupId), [id, other].sort(), "the group is whole");
      await second?.controller.controllerUnpublishVolume({ volumeId: id, nodeId: "a" });
      await first?.volumeGroup.deleteVolumeGroup({ volumeGroupId });
    } else {
      assert.equal(published, "NOT_FOUND");
      // Refused it is never then; it may have met the ticket that the other one took back.
      const gone = () => codeOf(first?.volumeGroup.deleteVolumeGroup({ volumeGroupId }) ?? Promise.reject());
      let code = deleted;
      while (code !== "OK") {
        assert.equal(code, "ABORTED");
        code = await gone();
      }
    }
    const left = (await cluster.store.list(Volumes)).items.map(({ metadata }) => metadata.name);
    assert.ok(!left.includes(id) && !left.includes(other));
  }
});

test("one name from two controllers at once is one group", async () => {
  const [a = ""] = await volumes(["name-a"]);
  for (let round = 0; round < ROUNDS; round++) {
    const name = `name ${round}`;
    const codes = await Promise.all(clients.map((client) => codeOf(make(name, [a], client))));
    assert.ok(
      codes.every((code) => code === "OK" || code === "ABORTED"),
      codes.join(),
    );
    const volumeGroupId = (await make(name, [a]))?.volumeGroupId ?? "";
    assert.deepEqual(await membersOf(volumeGroupId), [a]);
    await cluster.client.volumeGroup.modifyVolumeGroupMembership({ volumeGroupId });
    await cluster.client.volumeGroup.deleteVolumeGroup({ volumeGroupId });
  }
});

test("two calls on one group in one controller: the second is ABORTED, the same one joins", async () => {
  const [a = "", b = ""] = await volumes(["lock-a", "lock-b"]);
  const volumeGroupId = (await make("lock"))?.volumeGroupId ?? "";
  const modify = (volumeIds: string[]) =>
    cluster.client.volumeGroup.modifyVolumeGroupMembership({ volumeGroupId, volumeIds });
  const [one, same, other] = await Promise.allSettled([modify([a]), modify([a]), modify([b])]);
  assert.ok(one?.status === "fulfilled" && same?.status === "fulfilled");
  assert.deepEqual(one.value, same.value);
  assert.ok(other?.status === "rejected" && other.reason instanceof CsiError);
  assert.equal(other.reason.codeName, "ABORTED");
  assert.match(other.reason.message, new RegExp(`ModifyVolumeGroupMembership ${volumeGroupId} is under way`));
});

test("a volume that was taken away behind the driver's back is no member, nor is one of its name that is made anew", async () => {
  const [a = "", b = ""] = await volumes(["behind-a", "behind-b"]);
  const volumeGroupId = (await make("behind", [a, b]))?.volumeGroupId ?? "";
  await cluster.store.delete(Volumes, { name: a });
  while ((await membersOf(volumeGroupId)).length > 1);
  assert.deepEqual(await membersOf(volumeGroupId), [b]);
  await volumes(["behind-a"]);
  assert.deepEqual(await membersOf(volumeGroupId), [b]);
  const { volumeGroup } = cluster.client;
  await volumeGroup.modifyVolumeGroupMembership({ volumeGroupId, volumeIds: [a, b] });
  assert.deepEqual(await membersOf(volumeGroupId), [a, b].sort(), "it can join again");
  await mutate(cluster.store, VolumeSets, { name: volumeGroupId }, (set) => {
    set.metadata.labels = { somebody: "writes" };
  });
  await cluster.store.delete(VolumeSets, { name: volumeGroupId });
  await cluster.client.controller.deleteVolume({ volumeId: a });
  assert.deepEqual(
    (await make("other behind", [b]))?.volumes.map(({ volumeId }) => volumeId),
    [b],
  );
});
