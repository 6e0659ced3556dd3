import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { type CsiClient, type Logger, type Services, silentLogger, type v1 } from "../index.ts";
import { fails, mounted, pair } from "../testing/serve.ts";
import { REQUIRED_IN_RESPONSES } from "./required-responses.ts";
import { requiredOf } from "./rules.ts";

/** Messages that only responses have, with their required fields, as the tables of the wire say. */
function tabled(table: string, packageOf: (row: readonly string[]) => string): Map<string, string[]> {
  const rows = readFileSync(new URL(`../wire/tables/${table}`, import.meta.url), "utf8")
    .trim()
    .split("\n")
    .map((line) => line.split("\t"));
  const found = new Map<string, string[]>();
  for (const row of rows) {
    const [message = "", field = "", , type = "", label = "", required] = row;
    // A number or a bool that is not set reads as its zero value; enums have a value for "not set".
    const visible = !["bool", "int32", "int64"].includes(type) && label !== "value";
    if (required !== "yes" || !visible || /Request$/.test(message)) continue;
    const name = `${packageOf(row)}.${message}`;
    found.set(name, [...(found.get(name) ?? []), field]);
  }
  return found;
}

test("what the tables of the wire require of a response is required, and nothing else", () => {
  const messages = new Map([
    ...tabled("csi_v1_wire.tsv", () => "csi.v1"),
    ...tabled("csi_addons_wire.tsv", (row) => row[8] ?? ""),
  ]);
  assert.ok(messages.size > 25);
  for (const [name, fields] of messages) {
    for (const field of fields) assert.ok(requiredOf(name).includes(field), `${name}.${field}`);
  }
  for (const [name, fields] of Object.entries(REQUIRED_IN_RESPONSES)) {
    assert.deepEqual([...fields].sort(), messages.get(name)?.sort(), name);
  }
});

const long = "é".repeat(65);
const wrong: Services = {
  identity: { getPluginInfo: () => ({ name: "-a_b", vendorVersion: "1" }) },
  controller: {
    createVolume: () => ({ volume: { capacityBytes: 1n } }),
    validateVolumeCapabilities: () => ({ message: long }),
    listVolumes: () => ({ entries: [{ volume: { volumeId: "a" } }, { volume: { volumeId: long } }] }),
    getCapacity: () => ({ availableCapacity: 1n, maximumVolumeSize: -1n }),
  },
  node: {
    nodeGetInfo: () => ({ nodeId: "n", accessibleTopology: { segments: { "a/b/c": "d" } } }),
    nodeGetVolumeStats: () => ({ usage: [{ total: 1n, unit: 9 as v1.VolumeUsage_Unit }] }),
  },
  snapshotMetadata: {
    async *getMetadataAllocated() {
      yield { blockMetadataType: 2, volumeCapacityBytes: 4096n };
      yield { volumeCapacityBytes: 4096n };
    },
  },
};

/** Every call to which those handlers respond wrongly. */
const calls: ((client: CsiClient) => Promise<unknown>)[] = [
  ({ identity }) => identity.getPluginInfo({}),
  ({ controller }) => controller.createVolume({ name: "n", volumeCapabilities: [mounted] }),
  ({ controller }) => controller.validateVolumeCapabilities({ volumeId: "v", volumeCapabilities: [mounted] }),
  ({ controller }) => controller.listVolumes({}),
  ({ controller }) => controller.getCapacity({}),
  ({ node }) => node.nodeGetInfo({}),
  ({ node }) => node.nodeGetVolumeStats({ volumeId: "v", volumePath: "/p" }),
  async ({ snapshotMetadata }) => {
    for await (const _ of snapshotMetadata.getMetadataAllocated({ snapshotId: "s" }));
  },
];

const PROBLEMS: [method: string, field: string, text: RegExp][] = [
  ["GetPluginInfo", "name", /is "-a_b", which is no domain name/],
  ["CreateVolume", "volume.volume_id", /is required/],
  ["ValidateVolumeCapabilities", "message", /has 130 bytes, at most 128/],
  ["ListVolumes", "entries[1].volume.volume_id", /has 130 bytes/],
  ["GetCapacity", "maximum_volume_size", /is negative/],
  ["NodeGetInfo", "accessible_topology.segments", /has the key "a\/b\/c", which is no topology key/],
  ["NodeGetVolumeStats", "usage[0].unit", /is 9, which is no Unit/],
  ["GetMetadataAllocated", "block_metadata_type", /is required/],
];

test("a response that breaks a rule is sent, and logged as a warning with its method and field", async (t) => {
  const seen: { method?: string; field?: string; message: string }[] = [];
  const at = (bindings: object): Logger => ({
    ...silentLogger,
    child: (more) => at({ ...bindings, ...more }),
    warn: (fields, message) => seen.push({ ...bindings, ...fields, message }),
  });
  const { client } = await pair(t, wrong, { logger: at({}) });
  for (const call of calls) await call(client);
  assert.deepEqual(
    seen.map(({ method, field }) => [method?.split("/")[1], field]),
    PROBLEMS.map(([method, field]) => [method, field]),
  );
  for (const [index, [method, , text]] of PROBLEMS.entries()) {
    assert.match(seen[index]?.message ?? "", new RegExp(`^${method} returns what csi.v1 does not allow: `));
    assert.match(seen[index]?.message ?? "", text);
  }
});

test("with strictResponses it is INTERNAL instead; right responses are not", async (t) => {
  const { client } = await pair(t, wrong, { strictResponses: true });
  for (const [index, call] of calls.entries()) {
    const [method, , text] = PROBLEMS[index] ?? [];
    await assert.rejects(call(client), fails("INTERNAL", text), method);
  }
  assert.equal((await client.identity.probe({})).ready, true);
  assert.equal((await client.controller.controllerGetCapabilities({})).capabilities.length > 0, true);
});
