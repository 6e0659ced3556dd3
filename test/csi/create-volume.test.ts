import assert from "node:assert/strict";
import { test } from "node:test";
import { covers } from "@mooring/store/testing";
import { startDriver } from "./support/driver.ts";
import { capability, codeOf, createVolume, fails, GIB, MIB, remove, volumeId } from "./support/volumes.ts";

const driver = await startDriver({ poolSize: "8Gi" });
const { controller } = driver;

test("OK comes with a volume; its id is good for all later calls", async () => {
  covers("CSI-066", "CSI-082", "CSI-097", "CSI-021");
  const volume = await createVolume(driver, "plain");
  assert.ok(Buffer.byteLength(volume.volumeId) > 0 && Buffer.byteLength(volume.volumeId) <= 128);
  const got = await controller.controllerGetVolume({ volumeId: volume.volumeId });
  assert.equal(got.volume?.volumeId, volume.volumeId);
  await remove(driver, volume.volumeId);
  await fails("NOT_FOUND", controller.controllerGetVolume({ volumeId: volume.volumeId }));
});

test("with only the required fields the size, the place and the file system are the driver's choice", async () => {
  covers("CSI-026", "CSI-078");
  const { volume } = await controller.createVolume({ name: "bare", volumeCapabilities: [capability()] });
  assert.ok((volume?.capacityBytes ?? 0n) > 0n);
  assert.equal(volume?.accessibleTopology.length, 1);
  await remove(driver, volume?.volumeId ?? "");
});

test("a name is one volume: repeats return the same, deleted and made anew it has the same id", async () => {
  covers("CSI-067", "CSI-069", "CSI-070");
  const first = await createVolume(driver, "one name");
  assert.deepEqual(await createVolume(driver, "one name"), first);
  assert.equal((await controller.listVolumes({})).entries.length, 1);
  await remove(driver, first.volumeId);
  const again = await createVolume(driver, "one name");
  assert.equal(again.volumeId, first.volumeId, "the id comes from the name");
  await remove(driver, again.volumeId);
});

test("attributes never change, contain no secret, and do not identify", async () => {
  covers("CSI-098", "CSI-099", "CSI-365");
  const secrets = { password: "planted-secret" };
  const a = await createVolume(driver, "a", { secrets });
  const b = await createVolume(driver, "b", { secrets });
  assert.deepEqual((await createVolume(driver, "a", { secrets })).volumeContext, a.volumeContext);
  const listed = (await controller.listVolumes({})).entries.map((entry) => entry.volume);
  assert.deepEqual(
    listed.map((volume) => volume?.volumeContext),
    [a.volumeContext, b.volumeContext],
  );
  assert.notEqual(a.volumeId, b.volumeId);
  assert.doesNotMatch(
    JSON.stringify(listed, (_, value) =>
      String(value) && value?.toString === undefined ? "" : typeof value === "bigint" ? String(value) : value,
    ),
    /planted-secret/,
  );
  await remove(driver, a.volumeId, b.volumeId);
});

const SIZES: readonly [string, object | undefined, (bytes: bigint) => boolean][] = [
  ["required", { requiredBytes: 20n * MIB + 5n }, (b) => b >= 20n * MIB + 5n],
  ["limit", { limitBytes: 64n * MIB }, (b) => b <= 64n * MIB],
  ["both", { requiredBytes: 20n * MIB, limitBytes: 20n * MIB }, (b) => b === 20n * MIB],
  ["neither", undefined, (b) => b > 0n],
  ["above 32 bits", { requiredBytes: 5n * GIB }, (b) => b >= 5n * GIB],
];
for (const [what, capacityRange, good] of SIZES) {
  test(`capacity range: ${what}`, async () => {
    covers("CSI-093", "CSI-094", "CSI-096");
    const volume = await createVolume(driver, `size ${what}`, {
      ...(capacityRange ? { capacityRange } : {}),
    });
    assert.ok(good(volume.capacityBytes), String(volume.capacityBytes));
    await remove(driver, volume.volumeId);
  });
}

const REFUSED: readonly [string, string, object, RegExp][] = [
  ["no name", "INVALID_ARGUMENT", { name: "" }, /name/],
  ["no capability", "INVALID_ARGUMENT", { volumeCapabilities: [] }, /volume_capabilities/],
  [
    "mode UNKNOWN",
    "INVALID_ARGUMENT",
    { volumeCapabilities: [{ ...capability(), accessMode: { mode: 0 } }] },
    /mode/,
  ],
  [
    "no access type",
    "INVALID_ARGUMENT",
    { volumeCapabilities: [{ accessMode: { mode: 1 } }] },
    /access_type/,
  ],
  [
    "one bad of two",
    "INVALID_ARGUMENT",
    { volumeCapabilities: [capability(), capability({ fsType: "ntfs" })] },
    /ntfs/,
  ],
  ["unknown parameter", "INVALID_ARGUMENT", { parameters: { colour: "red" } }, /colour/],
  ["malformed parameter", "INVALID_ARGUMENT", { parameters: { pool: "a b" } }, /a b/],
  ["unknown pool", "INVALID_ARGUMENT", { parameters: { pool: "nowhere" } }, /nowhere.*default/s],
  ["unknown mutable parameter", "INVALID_ARGUMENT", { mutableParameters: { x: "1" } }, /readAheadKiB/],
  ["negative size", "INVALID_ARGUMENT", { capacityRange: { requiredBytes: -1n } }, /negative/],
  [
    "limit below required",
    "INVALID_ARGUMENT",
    { capacityRange: { requiredBytes: 9n, limitBytes: 8n } },
    /limit_bytes/,
  ],
  ["limit too small for any", "OUT_OF_RANGE", { capacityRange: { limitBytes: 4096n } }, /size/],
  ["larger than all room", "RESOURCE_EXHAUSTED", { capacityRange: { requiredBytes: 1n << 50n } }, /default/],
  ["control character in the name", "INVALID_ARGUMENT", { name: "a\u0007b" }, /control/],
  [
    "an unknown snapshot",
    "NOT_FOUND",
    { volumeContentSource: { type: { case: "snapshot", value: { snapshotId: "s-none" } } } },
    /s-none/,
  ],
  [
    "an unknown volume",
    "NOT_FOUND",
    { volumeContentSource: { type: { case: "volume", value: { volumeId: "v-none" } } } },
    /v-none/,
  ],
  ["an empty source", "INVALID_ARGUMENT", { volumeContentSource: {} }, /volume_content_source/],
];
for (const [what, code, change, text] of REFUSED) {
  test(`refused, and nothing is made: ${what}`, async () => {
    covers("CSI-029", "CSI-031", "CSI-033", "CSI-073", "CSI-074", "CSI-087");
    await fails(
      code,
      controller.createVolume({ name: "refused", volumeCapabilities: [capability()], ...change }),
      text,
    );
    assert.deepEqual((await controller.listVolumes({})).entries, []);
  });
}

test("a volume for block and mount may be used as either", async () => {
  covers("CSI-072");
  const both = { volumeCapabilities: [capability(), capability({ access: "block" })] };
  const id = await volumeId(driver, "both", both);
  for (const access of ["mount", "block"] as const) {
    const volumeCapabilities = [capability({ access })];
    const response = await controller.validateVolumeCapabilities({ volumeId: id, volumeCapabilities });
    assert.ok(response.confirmed, `${access}: ${response.message}`);
  }
  await remove(driver, id);
});

const OTHER: readonly [string, object, RegExp][] = [
  ["required_bytes", { capacityRange: { requiredBytes: 24n * MIB } }, /required_bytes/],
  ["limit_bytes", { capacityRange: { requiredBytes: 16n * MIB, limitBytes: 99n * MIB } }, /limit_bytes/],
  ["capabilities", { volumeCapabilities: [capability({ access: "block" })] }, /volume_capabilities/],
  ["parameters", { parameters: { pool: "default" } }, /parameters/],
];
for (const [what, change, text] of OTHER) {
  test(`the same name with other ${what} is ALREADY_EXISTS, names it, and changes nothing`, async () => {
    covers("CSI-120");
    const first = await createVolume(driver, "taken");
    await fails("ALREADY_EXISTS", createVolume(driver, "taken", change as never), text);
    assert.deepEqual(await createVolume(driver, "taken"), first);
    await remove(driver, first.volumeId);
  });
}

test("ten identical calls at once make one volume; a different one meanwhile is ABORTED or ALREADY_EXISTS", async () => {
  covers("CSI-020", "CSI-124");
  const same = Array.from({ length: 10 }, () => codeOf(createVolume(driver, "many")));
  const other = codeOf(createVolume(driver, "many", { size: 32n * MIB }));
  assert.deepEqual([...new Set(await Promise.all(same))], ["OK"]);
  assert.match(await other, /^(ABORTED|ALREADY_EXISTS)$/);
  const { entries } = await controller.listVolumes({});
  assert.equal(entries.length, 1);
  await remove(driver, entries[0]?.volume?.volumeId ?? "");
});

test("a client that goes away in the middle leaves a whole volume or none, under the same name", async () => {
  covers("CSI-069", "CSI-020");
  for (let round = 0; round < 5; round += 1) {
    const stop = new AbortController();
    const request = { name: `gone ${round}`, volumeCapabilities: [capability()] };
    const call = controller.createVolume(request, { signal: stop.signal });
    setTimeout(() => stop.abort(), round);
    assert.match(await codeOf(call), /^(CANCELLED|OK)$/);
    let again = await codeOf(controller.createVolume(request));
    while (again === "ABORTED") again = await codeOf(controller.createVolume(request));
    assert.equal(again, "OK");
    const { entries } = await controller.listVolumes({});
    assert.equal(entries.length, 1);
    await remove(driver, entries[0]?.volume?.volumeId ?? "");
  }
});
