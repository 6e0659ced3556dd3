import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { addons, CsiError } from "@mooring/csi";
import { MOORING_API_VERSION, Pools, VolumeSets } from "@mooring/engine";
import { StatusError } from "@mooring/store";
import { covers } from "@mooring/store/testing";
import { volumeIdOf } from "../names.ts";
import { type Cluster, startCluster } from "../testing/scripted-node.ts";
import { capability, codeOf, failureOf } from "../testing/world.ts";

let cluster: Cluster;
before(async () => {
  cluster = await startCluster(["a", "b"]);
  const { store } = cluster;
  const meta = { apiVersion: MOORING_API_VERSION, metadata: { name: "folders" } };
  const spec = { type: "directory" as const, nodeID: "a", path: "/folders" };
  const pool = await store.create(Pools, { ...meta, kind: "Pool", spec });
  const status = { ready: true, totalBytes: 1e12, freeBytes: 1e12, promisedBytes: 0 };
  await store.updateStatus(Pools, { ...pool, status });
});
after(() => cluster.end());

const groups = () => cluster.client.volumeGroup;
const volume = async (name: string, pool = "a"): Promise<string> => {
  const { volume: made } = await cluster.client.controller.createVolume({
    name,
    parameters: { pool },
    volumeCapabilities: [capability()],
  });
  return made?.volumeId ?? "";
};
const volumes = (names: string[], pool = "a") => Promise.all(names.map((name) => volume(name, pool)));
const group = async (name: string, volumeIds: string[] = [], parameters: Record<string, string> = {}) =>
  (await groups().createVolumeGroup({ name, volumeIds, parameters })).volumeGroup?.volumeGroupId ?? "";
const members = async (volumeGroupId: string) => {
  const { volumeGroup } = await groups().controllerGetVolumeGroup({ volumeGroupId });
  return volumeGroup?.volumes.map(({ volumeId }) => volumeId) ?? [];
};
const refusal = async (call: Promise<unknown>): Promise<CsiError> => {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof CsiError, "it is refused");
  assert.notEqual(error.message, "");
  return error;
};
const MADE_UP = "v-00000000-0000-8000-a000-000000000000";

test("a group with parameters: what is known is honoured, all else is refused by its name", async () => {
  covers("GRP-021", "GRP-022", "GRP-012");
  const good = { pool: "a", maxVolumes: "2", deleteVolumes: "false", "csi.storage.k8s.io/x": "y" };
  const { volumeGroup } = await groups().createVolumeGroup({ name: "rules", parameters: good });
  assert.deepEqual(volumeGroup?.volumeGroupContext, {
    ...{ generation: "1", maxVolumes: "2", deleteVolumes: "false", pool: "a" },
  });
  for (const [key, value] of [
    ["colour", "red"],
    ["maxVolumes", "101"],
    ["maxVolumes", "0"],
    ["deleteVolumes", "maybe"],
    ["pool", "nowhere"],
    ["pool", "No Name"],
    ["toString", ""],
  ] as const) {
    const { code, message } = await failureOf(group("unmade", [], { [key]: value }));
    assert.equal(code, "INVALID_ARGUMENT", `${key}=${value}`);
    assert.ok(message.includes(`parameter "${key}"`), message);
  }
  const sets = (await cluster.store.list(VolumeSets)).items;
  assert.ok(sets.every(({ spec }) => spec.request?.["name"] !== "unmade"));
});

test("a name is one group: other parameters or other first volumes are ALREADY_EXISTS", async () => {
  covers("GRP-024", "GRP-086");
  const [a = "", b = ""] = await volumes(["same-a", "same-b"]);
  const id = await group("same", [a], { maxVolumes: "5" });
  assert.equal(await codeOf(group("same", [a], { maxVolumes: "6" })), "ALREADY_EXISTS");
  assert.equal(await codeOf(group("same", [a])), "ALREADY_EXISTS");
  assert.equal(await codeOf(group("same", [a, b], { maxVolumes: "5" })), "ALREADY_EXISTS");
  assert.deepEqual(await members(id), [a], "the first one is untouched");
  await groups().modifyVolumeGroupMembership({ volumeGroupId: id, volumeIds: [b] });
  const again = await groups().createVolumeGroup({
    ...{ name: "same", volumeIds: [a], parameters: { maxVolumes: "5", "csi.storage.k8s.io/x": "new" } },
  });
  assert.deepEqual(
    again.volumeGroup?.volumes.map(({ volumeId }) => volumeId),
    [b],
    "as it is by now",
  );
});

test("volumes that cannot be grouped are FAILED_PRECONDITION, 9 on the wire, and no group is made", async () => {
  covers("GRP-026", "GRP-027", "GRP-079");
  const [image = ""] = await volumes(["mixed-image"]);
  const [folder = ""] = await volumes(["mixed-folder"], "folders");
  const error = await refusal(group("mixed", [image, folder]));
  assert.equal(error.code, 9);
  assert.match(error.message, /in pool "folders" \(directory\), which cannot be snapshotted at one moment/);
  assert.deepEqual(error.violations, [
    {
      field: "volume_ids[1]",
      description: `volume "${folder}" is in pool "folders" (directory), which cannot be snapshotted at one moment with pool "a" (xfs)`,
      reason: "VOLUME_INCOMPATIBLE",
    },
  ]);
  assert.equal(await codeOf(group("mixed", [image], { pool: "b" })), "FAILED_PRECONDITION");
  const left = (await cluster.store.list(VolumeSets)).items;
  assert.ok(
    left.every(({ spec }) => spec.request?.["name"] !== "mixed"),
    "nothing is left",
  );
  const other = await volumes(["mixed-other"], "b");
  assert.deepEqual(
    (await members(await group("mixed", [image, ...other]))).length,
    2,
    "over pools and nodes",
  );
});

test("a volume that does not go with the members is INVALID_ARGUMENT, and nothing has changed", async () => {
  covers("GRP-052", "GRP-053", "GRP-051");
  const [one = "", two = ""] = await volumes(["fit-a", "fit-b"]);
  const [folder = ""] = await volumes(["fit-folder"], "folders");
  const volumeGroupId = await group("fit", [one]);
  const before = await groups().controllerGetVolumeGroup({ volumeGroupId });
  const error = await refusal(
    groups().modifyVolumeGroupMembership({ volumeGroupId, volumeIds: [two, folder] }),
  );
  assert.equal(error.code, 3);
  assert.match(error.message, /is as it was: volume ".*" is in pool "folders"/);
  assert.deepEqual(await groups().controllerGetVolumeGroup({ volumeGroupId }), before);
  const own = await group("fit a", [], { pool: "b" });
  const wrong = groups().modifyVolumeGroupMembership({ volumeGroupId: own, volumeIds: [two] });
  assert.match((await refusal(wrong)).message, /the group is for volumes of pool "b"/);
  await groups().modifyVolumeGroupMembership({ volumeGroupId, volumeIds: [two] });
  const folders = await volumes(["fit-folder-2"], "folders");
  assert.deepEqual(await members(await group("folders", [folder, ...folders])), [folder, ...folders].sort());
});

test("what is missing is NOT_FOUND, and the details name every volume with its reason", async () => {
  covers("GRP-054", "GRP-063", "GRP-086", "GRP-087");
  const [one = "", two = "", taken = ""] = await volumes(["named-a", "named-b", "named-c"]);
  const volumeGroupId = await group("named", [one]);
  const other = await group("named too", [taken]);
  const volumeIds = [two, MADE_UP, "nothing", taken];
  const error = await refusal(groups().modifyVolumeGroupMembership({ volumeGroupId, volumeIds }));
  assert.equal(error.codeName, "NOT_FOUND");
  assert.deepEqual(
    error.violations.map(({ field, reason }) => [field, reason]),
    [
      ["volume_ids[1]", "VOLUME_NOT_FOUND"],
      ["volume_ids[2]", "VOLUME_NOT_FOUND"],
      ["volume_ids[3]", "VOLUME_IN_ANOTHER_GROUP"],
    ],
  );
  assert.ok(error.violations.at(-1)?.description.includes(`volume "${taken}" is in volume group "${other}"`));
  assert.deepEqual(await members(volumeGroupId), [one], "all or nothing");
  assert.equal(await codeOf(group("unmade", [two, MADE_UP])), "NOT_FOUND");
  for (const id of [MADE_UP, "vg-00000000-0000-8000-a000-000000000000", "../x"]) {
    assert.equal(await codeOf(groups().modifyVolumeGroupMembership({ volumeGroupId: id })), "NOT_FOUND");
    assert.equal(await codeOf(groups().controllerGetVolumeGroup({ volumeGroupId: id })), "NOT_FOUND");
  }
  await cluster.client.controller.deleteVolume({ volumeId: two });
});

test("more volumes than fit are RESOURCE_EXHAUSTED, 8 on the wire; members keep their places", async () => {
  covers("GRP-056", "GRP-057");
  const [a = "", b = "", c = ""] = await volumes(["full-a", "full-b", "full-c"]);
  const volumeGroupId = await group("full", [c], { maxVolumes: "2" });
  const error = await refusal(groups().modifyVolumeGroupMembership({ volumeGroupId, volumeIds: [a, b, c] }));
  assert.equal(error.code, 8);
  assert.match(error.message, /at most 2 volumes fit in the group, not 3/);
  assert.deepEqual(
    error.violations.map(({ field }) => field),
    ["volume_ids[1]"],
  );
  assert.deepEqual(await members(volumeGroupId), [c]);
  await groups().modifyVolumeGroupMembership({ volumeGroupId, volumeIds: [a, c] });
  const swap = groups().modifyVolumeGroupMembership({ volumeGroupId, volumeIds: [a, b] });
  assert.equal(await codeOf(swap), "OK", "one goes, one comes");
  const many = Array.from({ length: 101 }, (_, index) => `v-${index}`);
  assert.equal(await codeOf(group("more than any group", many)), "RESOURCE_EXHAUSTED");
});

test("a volume is in one group at most, as the identity says", async () => {
  covers("GRP-084");
  const { capabilities } = await cluster.client.addonsIdentity.getCapabilities({});
  const announced = capabilities.flatMap(({ type }) =>
    type.case === "volumeGroup" ? [type.value.type] : [],
  );
  assert.ok(announced.includes(addons.Capability_VolumeGroup_Type.LIMIT_VOLUME_TO_ONE_VOLUME_GROUP));
  const [one = ""] = await volumes(["single"]);
  const first = await group("single", [one]);
  assert.equal(await codeOf(group("second", [one])), "FAILED_PRECONDITION");
  const second = await group("second");
  const join = () => groups().modifyVolumeGroupMembership({ volumeGroupId: second, volumeIds: [one] });
  assert.equal(await codeOf(join()), "FAILED_PRECONDITION");
  await groups().modifyVolumeGroupMembership({ volumeGroupId: first });
  assert.equal(await codeOf(join()), "OK", "when it has left the first");
  assert.deepEqual([await members(first), await members(second)], [[], [one]]);
});

test("a missing id or name, or a negative number, is INVALID_ARGUMENT of every call", async () => {
  covers("GRP-078", "GRP-071", "GRP-011", "GRP-033", "GRP-047", "GRP-061");
  const calls = {
    name: groups().createVolumeGroup({ volumeIds: [MADE_UP] }),
    volume_group_id: groups().deleteVolumeGroup({}),
    "volume_group_id ": groups().modifyVolumeGroupMembership({ volumeIds: [MADE_UP] }),
    " volume_group_id": groups().controllerGetVolumeGroup({}),
    max_entries: groups().listVolumeGroups({ maxEntries: -1 }),
    "volume_ids[0]": groups().createVolumeGroup({ name: "x", volumeIds: [""] }),
  };
  for (const [field, call] of Object.entries(calls)) {
    const { code, message } = await failureOf(call);
    assert.equal(code, "INVALID_ARGUMENT", field);
    assert.ok(message.includes(`${field.trim()} `), message);
  }
});

test("a volume that is still being made cannot join yet", async () => {
  const request = { name: "slow", parameters: { pool: "a" }, volumeCapabilities: [capability()] };
  const id = volumeIdOf("slow");
  cluster.script.ignored.add(id);
  const making = cluster.client.controller.createVolume(request);
  const volumeGroupId = await group("waits");
  const join = () => groups().modifyVolumeGroupMembership({ volumeGroupId, volumeIds: [id] });
  // The call that makes it may not have begun yet; and while it runs, it holds no lock on the id that it will return.
  let refused = await refusal(join());
  while (refused.codeName === "NOT_FOUND") refused = await refusal(join());
  assert.equal(refused.codeName, "FAILED_PRECONDITION");
  assert.match(refused.message, /is still being made/);
  cluster.script.ignored.delete(id);
  await cluster.wake();
  await making;
  assert.equal(await codeOf(join()), "OK");
});

test("every announced call is served, and csi.v1 announces nothing of groups", async () => {
  covers("GRP-044", "GRP-058", "GRP-065", "GRP-077", "GRP-081");
  const { client } = cluster;
  const { capabilities } = await client.addonsIdentity.getCapabilities({});
  const { Capability_VolumeGroup_Type: Type } = addons;
  const announced = capabilities.flatMap(({ type }) =>
    type.case === "volumeGroup" ? [type.value.type] : [],
  );
  assert.deepEqual(announced, [
    ...[Type.VOLUME_GROUP, Type.LIMIT_VOLUME_TO_ONE_VOLUME_GROUP, Type.MODIFY_VOLUME_GROUP],
    ...[Type.GET_VOLUME_GROUP, Type.LIST_VOLUME_GROUPS],
  ]);
  const id = await group("served");
  for (const call of [
    groups().modifyVolumeGroupMembership({ volumeGroupId: id }),
    groups().controllerGetVolumeGroup({ volumeGroupId: id }),
    groups().listVolumeGroups({}),
  ])
    assert.equal(await codeOf(call), "OK");
  assert.equal(await codeOf(groups().deleteVolumeGroup({ volumeGroupId: id })), "OK");
  const text = JSON.stringify(await client.controller.controllerGetCapabilities({}));
  assert.ok(!/GROUP/i.test(text), text);
});

test("what cannot be done is no OK of any call, says why, and changes nothing", async () => {
  covers("GRP-021", "GRP-036", "GRP-051", "GRP-063", "GRP-075");
  const [one = "", two = ""] = await volumes(["away-a", "away-b"]);
  const volumeGroupId = await group("away", [one]);
  const before = await groups().controllerGetVolumeGroup({ volumeGroupId });
  cluster.script.failure = new StatusError("ServiceUnavailable", "the store is away");
  const calls = {
    create: () => groups().createVolumeGroup({ name: "away too" }),
    modify: () => groups().modifyVolumeGroupMembership({ volumeGroupId, volumeIds: [one, two] }),
    get: () => groups().controllerGetVolumeGroup({ volumeGroupId }),
    list: () => groups().listVolumeGroups({}),
    delete: () => groups().deleteVolumeGroup({ volumeGroupId }),
  };
  for (const [name, call] of Object.entries(calls)) {
    const { code, message } = await failureOf(call());
    assert.deepEqual([code, /the store is away/.test(message)], ["UNAVAILABLE", true], `${name}: ${message}`);
  }
  cluster.script.failure = undefined;
  assert.deepEqual(await groups().controllerGetVolumeGroup({ volumeGroupId }), before);
  const sets = (await cluster.store.list(VolumeSets)).items;
  assert.ok(sets.every(({ spec }) => spec.request?.["name"] !== "away too"));
});
