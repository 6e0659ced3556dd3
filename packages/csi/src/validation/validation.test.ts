import assert from "node:assert/strict";
import { test } from "node:test";
import { create, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import { covers } from "@mooring/store/testing";
import { checkMessage, v0, v1, volumegroup } from "../index.ts";
import { fails, mounted, pair } from "../testing/serve.ts";
import { requiredOf } from "./rules.ts";

function check<S extends DescMessage>(schema: S, init: MessageInitShape<S>): string | undefined {
  return checkMessage(schema, create(schema, init));
}

const volume = { name: "a", volumeCapabilities: [mounted] };
const createVolume = (init: MessageInitShape<typeof v1.CreateVolumeRequestSchema>) =>
  check(v1.CreateVolumeRequestSchema, { ...volume, ...init });

/** Every request with its required fields set, by message. */
const COMPLETE: [DescMessage, Record<string, unknown>][] = [
  [v1.CreateVolumeRequestSchema, volume],
  [v1.DeleteVolumeRequestSchema, { volumeId: "v" }],
  [v1.ControllerPublishVolumeRequestSchema, { volumeId: "v", nodeId: "n", volumeCapability: mounted }],
  [v1.ControllerUnpublishVolumeRequestSchema, { volumeId: "v" }],
  [v1.ValidateVolumeCapabilitiesRequestSchema, { volumeId: "v", volumeCapabilities: [mounted] }],
  [v1.ControllerGetVolumeRequestSchema, { volumeId: "v" }],
  [v1.ControllerModifyVolumeRequestSchema, { volumeId: "v", mutableParameters: { a: "b" } }],
  [v1.CreateSnapshotRequestSchema, { sourceVolumeId: "v", name: "s" }],
  [v1.DeleteSnapshotRequestSchema, { snapshotId: "s" }],
  [v1.GetSnapshotRequestSchema, { snapshotId: "s" }],
  [v1.ControllerExpandVolumeRequestSchema, { volumeId: "v", capacityRange: { requiredBytes: 1n } }],
  [v1.NodeStageVolumeRequestSchema, { volumeId: "v", stagingTargetPath: "/s", volumeCapability: mounted }],
  [v1.NodeUnstageVolumeRequestSchema, { volumeId: "v", stagingTargetPath: "/s" }],
  [v1.NodePublishVolumeRequestSchema, { volumeId: "v", targetPath: "/t", volumeCapability: mounted }],
  [v1.NodeUnpublishVolumeRequestSchema, { volumeId: "v", targetPath: "/t" }],
  [v1.NodeGetVolumeStatsRequestSchema, { volumeId: "v", volumePath: "/t" }],
  [v1.NodeExpandVolumeRequestSchema, { volumeId: "v", volumePath: "/t" }],
  [v1.CreateVolumeGroupSnapshotRequestSchema, { name: "g", sourceVolumeIds: ["v"] }],
  [v1.DeleteVolumeGroupSnapshotRequestSchema, { groupSnapshotId: "g" }],
  [v1.GetVolumeGroupSnapshotRequestSchema, { groupSnapshotId: "g" }],
  [v1.GetMetadataAllocatedRequestSchema, { snapshotId: "s" }],
  [v1.GetMetadataDeltaRequestSchema, { baseSnapshotId: "a", targetSnapshotId: "b" }],
  [volumegroup.CreateVolumeGroupRequestSchema, { name: "g" }],
  [volumegroup.ModifyVolumeGroupMembershipRequestSchema, { volumeGroupId: "g" }],
  [volumegroup.DeleteVolumeGroupRequestSchema, { volumeGroupId: "g" }],
  [volumegroup.ControllerGetVolumeGroupRequestSchema, { volumeGroupId: "g" }],
];

test("each required field, left out in turn, is named; the others are enough", () => {
  covers("CSI-024", "CSI-025", "CSI-026", "CSI-029", "CSI-180", "GRP-011", "GRP-033", "GRP-047", "GRP-061");
  for (const [schema, init] of COMPLETE) {
    const complete = init as MessageInitShape<typeof schema>;
    assert.equal(check(schema, complete), undefined, schema.typeName);
    assert.equal(requiredOf(schema.typeName).length, Object.keys(init).length, schema.typeName);
    for (const name of Object.keys(init)) {
      const { [name]: _, ...rest } = init;
      const problem = check(schema, rest as MessageInitShape<typeof schema>);
      const field = schema.fields.find(({ localName }) => localName === name)?.name;
      assert.equal(problem, `${field} is required`, schema.typeName);
    }
  }
});

test("secret keys have letters, digits, '-', '_' and '.' only", () => {
  covers("CSI-036");
  assert.equal(createVolume({ secrets: { "Aa0-_.": "any ✓" } }), undefined);
  assert.equal(createVolume({ secrets: { "csi.storage.k8s.io/serviceAccount.tokens": "{}" } }), undefined);
  for (const key of ["a/b", "a b", "é", "", "csi.storage.k8s.io/other"]) {
    assert.match(createVolume({ secrets: { [key]: "x" } }) ?? "", /^secrets has (the|an empty) key/);
  }
  assert.equal(createVolume({ parameters: { "a/b": "x" } }), undefined);
});

test("paths that things are made at are absolute", () => {
  covers("CSI-031");
  const init = { volumeId: "v", targetPath: "relative/path" };
  assert.match(check(v1.NodeUnpublishVolumeRequestSchema, init) ?? "", /target_path is not an absolute path/);
});

test("a capability has an access type, and a mode that exists", () => {
  covers("CSI-083", "CSI-087");
  const { accessType, accessMode } = mounted;
  assert.match(createVolume({ volumeCapabilities: [{ accessMode }] }) ?? "", /access_type is required/);
  assert.match(createVolume({ volumeCapabilities: [{ accessType }] }) ?? "", /access_mode is required/);
  for (const mode of [0, 99]) {
    const problem = createVolume({ volumeCapabilities: [{ accessType, accessMode: { mode } }] });
    assert.match(problem ?? "", /mode is (required|99, which is no Mode)/);
  }
});

test("a capacity range has one number at least, none negative", () => {
  covers("CSI-095");
  for (const [capacityRange, problem] of [
    [{}, /required_bytes or limit_bytes is required/],
    [{ requiredBytes: -1n }, /required_bytes is negative/],
    [{ requiredBytes: 1n, limitBytes: -1n }, /limit_bytes is negative/],
    [{ requiredBytes: 10_000_000_000n, limitBytes: 9_000_000_000n }, /is larger than limit_bytes/],
  ] as const) {
    assert.match(createVolume({ capacityRange }) ?? "", problem);
  }
  for (const capacityRange of [
    { requiredBytes: 5n, limitBytes: 5n },
    { requiredBytes: 1n },
    { limitBytes: 1n },
  ]) {
    assert.equal(createVolume({ capacityRange }), undefined);
  }
});

test("topology: something is asked for, preferred is among requisite, keys differ", () => {
  covers("CSI-104", "CSI-111", "CSI-118");
  const [a, b] = [{ segments: { zone: "a" } }, { segments: { zone: "b" } }];
  const ask = (accessibilityRequirements: MessageInitShape<typeof v1.TopologyRequirementSchema>) =>
    createVolume({ accessibilityRequirements }) ?? "";
  assert.match(ask({}), /requisite or preferred is required/);
  assert.match(ask({ requisite: [a], preferred: [b] }), /preferred\[0\] is not among requisite/);
  assert.match(ask({ requisite: [{ segments: { zone: "a", Zone: "b" } }] }), /twice/);
  assert.equal(ask({ requisite: [a, b], preferred: [b] }), "");
  assert.equal(ask({ preferred: [b] }), "");
});

/** Topology key -> versions that take it. */
const KEYS: readonly [string, readonly ("v0" | "v1")[]][] = [
  ["zone", ["v0", "v1"]],
  ["Zone_1.a-b", ["v0", "v1"]],
  ["com.company.example/zone", ["v0", "v1"]],
  ["com.company-2.example/Zone_1", ["v0", "v1"]],
  [`${"a".repeat(63)}/${"b".repeat(63)}`, ["v0", "v1"]],
  ["Com.Company.Example/zone", ["v0"]],
  ["com_company.example/zone", ["v0"]],
  ["com..example/zone", ["v0"]],
  ["com.-example/zone", ["v0"]],
  [`${"a".repeat(64)}/zone`, []],
  [`zone/${"b".repeat(64)}`, []],
  ["-com.example/zone", []],
  ["com.example./zone", []],
  ["com.example/", []],
  ["/zone", []],
  ["a/b/c", []],
  ["z ne", []],
  ["", []],
];

test("keys of topologies: csi.v1 takes lower-case domain names as prefixes, csi.v0 more", () => {
  covers("CSI-115", "CSI-355");
  for (const [key, versions] of KEYS) {
    const segments = { [key]: "a" };
    const checked = {
      v1: check(v1.TopologySchema, { segments }),
      v0: check(v0.TopologySchema, { segments }),
    };
    for (const version of ["v0", "v1"] as const) {
      if (versions.includes(version)) assert.equal(checked[version], undefined, `${version} ${key}`);
      else assert.match(checked[version] ?? "", /no topology key: use |empty key/, `${version} ${key}`);
    }
  }
});

test("a content source has a kind and an id, in both versions", () => {
  covers("CSI-080");
  assert.match(createVolume({ volumeContentSource: {} }) ?? "", /type is required/);
  const snapshot = { type: { case: "snapshot" as const, value: {} } };
  assert.match(createVolume({ volumeContentSource: snapshot }) ?? "", /snapshot_id is required/);
  const old = check(v0.VolumeContentSourceSchema, snapshot);
  assert.match(old ?? "", /snapshot\.id is required/);
});

test("the longest map and the longest mount flags are taken, one byte more is not", () => {
  covers("CSI-022", "CSI-086");
  const map = (bytes: number) => createVolume({ parameters: { key: "x".repeat(bytes - 3) } });
  assert.equal(map(4096), undefined);
  assert.match(map(4097) ?? "", /4097 bytes, at most 4096/);
  const flags = (bytes: number) => {
    const accessType = { case: "mount" as const, value: { mountFlags: ["x".repeat(bytes)] } };
    return createVolume({ volumeCapabilities: [{ ...mounted, accessType }] });
  };
  assert.equal(flags(4096), undefined);
  assert.match(flags(4097) ?? "", /at most 4096/);
});

test("a negative offset into a snapshot is out of its range, another negative number is not valid", async (t) => {
  const { client } = await pair(t, { snapshotMetadata: { getMetadataAllocated: async function* () {} } });
  const ask = async (init: { startingOffset?: bigint; maxResults?: number }) => {
    for await (const _ of client.snapshotMetadata.getMetadataAllocated({ snapshotId: "s", ...init }));
  };
  await ask({ startingOffset: 5n });
  await assert.rejects(ask({ startingOffset: -1n }), fails("OUT_OF_RANGE", /starting_offset is negative/));
  await assert.rejects(ask({ maxResults: -1 }), fails("INVALID_ARGUMENT", /max_results is negative/));
});
