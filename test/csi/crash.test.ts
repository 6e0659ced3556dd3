import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import "@mooring/driver";
import { ENGINE_KINDS, findLeaks } from "@mooring/engine";
import { failpointNames, LocalStore, ResourceRegistry } from "@mooring/store";
import { covers, eventually, killEveryFailpoint } from "@mooring/store/testing";
import { filesBelow } from "../support/remains.ts";
import { type Driver, host, prepareDriver } from "./support/driver.ts";
import { STORIES } from "./support/stories.ts";

/** Killed as soon as the request is on its way, whatever it is at just then. */
const AT_ONCE = "at once";

/** The failpoints that each call comes by. */
const FAILPOINTS: Readonly<Record<string, readonly string[]>> = {
  CreateVolume: [
    ...["driver/create-volume/volume-recorded", "driver/create-volume/volume-ready"],
    ...["engine/volume/record-creating", "engine/volume/create-image", "engine/volume/record-created"],
    ...["engine/pool/image-written", "engine/pool/image-renamed", "engine/pool/record-usage"],
  ],
  "CreateVolume from a snapshot": [
    ...["driver/create-volume/volume-recorded", "engine/pool/image-written", "engine/pool/image-renamed"],
    ...["engine/volume/create-image", "engine/volume/record-created"],
  ],
  "CreateVolume from a volume": [
    ...["driver/create-volume/volume-recorded", "engine/copy/frozen", "engine/copy/cloned-while-frozen"],
    ...["engine/pool/image-written", "engine/pool/image-renamed", "engine/volume/create-image"],
    ...["engine/volume/record-created", "driver/create-volume/volume-ready"],
  ],
  DeleteVolume: [
    ...["driver/delete-volume/volume-marked", "engine/volume/record-deleting"],
    ...["engine/volume/remove-image", "engine/volume/remove-finalizer"],
  ],
  ControllerPublishVolume: [
    ...["driver/publish-volume/ticket-added", "driver/publish-volume/attached"],
    ...["engine/arbiter/results-written", "engine/arbiter/volume-placed"],
    "engine/arbiter/record-results",
    ...["engine/volume/record-attaching", "engine/volume/open-device", "engine/volume/record-attached"],
  ],
  ControllerUnpublishVolume: [
    ...["driver/unpublish-volume/tickets-removed", "engine/arbiter/place-volume"],
    ...["engine/volume/record-detaching", "engine/volume/close-device", "engine/volume/record-detached"],
  ],
  ControllerExpandVolume: [
    ...["driver/expand-volume/size-recorded", "engine/volume/grow-image"],
    ...["engine/volume/refresh-device", "engine/volume/record-size"],
  ],
  ControllerModifyVolume: [
    ...["driver/modify-volume/recorded", "driver/tuning/read-ahead-set", "driver/modify-volume/tuned"],
    ...["driver/modify-volume/limited", AT_ONCE],
  ],
  CreateSnapshot: [
    ...["driver/create-snapshot/snapshot-recorded", "driver/create-snapshot/snapshot-ready"],
    ...["engine/snapshot/record-copying", "engine/copy/frozen", "engine/copy/cloned-while-frozen"],
    ...["engine/pool/image-written", "engine/pool/image-renamed", "engine/snapshot/copy"],
    "engine/snapshot/record-ready",
  ],
  DeleteSnapshot: [
    ...["driver/withdraw/object-marked", "engine/snapshot/remove-image"],
    "engine/snapshot/remove-finalizer",
  ],
  CreateVolumeGroupSnapshot: [
    ...["driver/create-group-snapshot/group-recorded", "driver/create-group-snapshot/group-ready"],
    ...["engine/group-snapshot/member-created", "engine/group-snapshot/prepare"],
    ...["engine/group-snapshot/copied", "engine/group-snapshot/record-committed"],
    ...["engine/group-snapshot/run", "engine/group-snapshot/record-ready"],
  ],
  DeleteVolumeGroupSnapshot: [
    ...["engine/group-snapshot/record-deleting", "engine/group-snapshot/member-deleted"],
    "engine/group-snapshot/remove-finalizer",
  ],
  NodeStageVolume: [
    ...["driver/stage/recorded", "driver/stage/target-made", "engine/filesystem/format-intended"],
    ...["engine/filesystem/formatted", "engine/filesystem/format-recorded"],
    ...["driver/stage/mounted", "driver/stage/grown"],
  ],
  NodeUnstageVolume: ["driver/unstage/unmounted", "driver/unstage/forgotten"],
  NodePublishVolume: ["driver/publish/recorded", "driver/publish/target-made", "driver/publish/bound"],
  NodeUnpublishVolume: [
    ...["driver/unpublish/unmounted", "driver/unpublish/target-removed", "driver/unpublish/forgotten"],
  ],
  NodeExpandVolume: ["driver/expand/device-grown", "driver/expand/grown", AT_ONCE],
};

/**
 * Failpoints that no call comes by, or by chance only: pools of the start, volumes that get lost, operators' tickets, jobs;
 * and those of group snapshots that have tests of their own, step by step.
 */
const ELSEWHERE = [
  /^engine\/pool\/(backing|add-finalizer|remove|open|reopen|close-idle|limit|hold-writers|folder)/,
  /^engine\/arbiter\/(edit-tickets|make-attachment|release-attachment)/,
  /^engine\/(volume|snapshot)\/(add-finalizer|record-(lost|settled|device-lost|faulted|recovered))/,
  /^engine\/volume\/(hide-device|grow-filesystem|filesystem-grown|image-restored|restore-image)/,
  /^engine\/volume\/repair/,
  /^engine\/volume\/(drop-device|renew-image|take-lease|guard-device|record-released)/,
  /^engine\/(services|freezes|group-snapshot|migration|share|shut-out)\//,
  /^driver\/expand\/offline-noted/,
  // Of thick images: packages/engine/src/node/crash.test.ts.
  /^engine\/pool\/image-(allocated|marked-thick|unshared)/,
  // Of group reverts: packages/engine/src/cluster/group-revert/crash.test.ts.
  /^engine\/group-revert\//,
  // No life is killed there yet: what a pool has, and what was reported to its volumes, is read again at every start.
  /^engine\/pool\/(enlarge|report-to-volumes|join|report-no-node)/,
  // Of volume groups: packages/driver/src/crash/groups.test.ts.
  /^driver\/(create-volume-group|delete-volume-group|volume-group)\//,
];

test("every failpoint of driver and engine is one that a call comes by, or that has its test elsewhere", () => {
  const met = new Set(Object.values(FAILPOINTS).flat());
  const names = failpointNames().filter((name) => /^(driver|engine)\//.test(name));
  assert.deepEqual(
    names.filter((name) => !met.has(name) && !ELSEWHERE.some((failpoints) => failpoints.test(name))),
    [],
  );
  assert.deepEqual(
    [...met].filter((name) => name !== AT_ONCE && !names.includes(name)),
    [],
  );
});

const POOLS = ["xfs", "btrfs"] as const;
const runs = POOLS.flatMap((pool) =>
  Object.entries(FAILPOINTS).flatMap(([rpc, failpoints]) =>
    failpoints.map((failpoint) => ({ pool, rpc, failpoint })),
  ),
);

killEveryFailpoint(runs, { everyday: 1, full: 6 }, ({ rpc, failpoint, pool }) => {
  test(`${pool}: ${rpc}, killed at ${failpoint}: the same request has the same result, and nothing is orphaned`, async () => {
    covers("CSI-069", "CSI-020");
    const driver = await prepareDriver({ pool });
    await killedAndRepeated(driver, rpc, failpoint).catch(async (error: unknown) => {
      // What was left half-way is no news beside the reason.
      await driver.dispose().catch(() => {});
      throw error;
    });
    await driver.dispose();
  });
});

async function killedAndRepeated(driver: Driver, rpc: string, failpoint: string): Promise<void> {
  const story = STORIES[rpc];
  assert.ok(story);
  await driver.start();
  // Names become ids: a second life of the same story is about the same subject, and has the same results.
  const first = await story.prepare(driver);
  const expected = await story.call(driver, first);
  await story.undo(driver, first);
  const subject = await story.prepare(driver);
  assert.equal(subject, first);
  const env = failpoint === AT_ONCE ? {} : { MOORING_FAILPOINT: failpoint };
  assert.equal(await driver.process.end("SIGTERM"), 0, driver.output);
  await driver.start(env, { mayDie: true });
  const call = story.call(driver, subject).catch(() => {});
  if (failpoint === AT_ONCE) setImmediate(() => void driver.process.end("SIGKILL"));
  await eventually("the failpoint to be passed", async () => !driver.process.alive);
  assert.equal(await driver.process.ended(), "SIGKILL", driver.output);
  await call;
  await driver.start();
  const response = await persist(() => story.call(driver, subject));
  assert.deepEqual(withoutTime(response), withoutTime(expected));
  assert.deepEqual(await story.call(driver, subject), response);
  await story.undo(driver, subject);
  await nothingIsLeft(driver);
}

/** A fresh life may still be at the work of the last one. */
function persist<T>(call: () => Promise<T>): Promise<T> {
  return eventually("the call to succeed", () =>
    call().catch((error: { codeName?: string }) => {
      if (error.codeName === "ABORTED" || error.codeName === "UNAVAILABLE") return undefined as never;
      throw error;
    }),
  );
}

/** A second snapshot under the same name, after the first was deleted, is at another time. */
function withoutTime(response: unknown): unknown {
  if (Array.isArray(response)) return response.map(withoutTime);
  if (typeof response !== "object" || response === null) return response;
  const { creationTime: _, ...rest } = response as { creationTime?: unknown };
  return Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, withoutTime(value)]));
}

async function nothingIsLeft(driver: Driver): Promise<void> {
  assert.deepEqual((await driver.controller.listVolumes({})).entries, []);
  assert.deepEqual((await driver.controller.listSnapshots({})).entries, []);
  const images = (await filesBelow(join(driver.stateDir, "pools"))).filter(
    (file) => !/pool\.img$|pool\.json$|\/lock$/.test(file),
  );
  assert.deepEqual(images, []);
  assert.deepEqual(await readdir(join(driver.stateDir, "node-volumes")).catch(() => []), []);
  assert.equal(await driver.process.end("SIGTERM"), 0, driver.output);
  const registry = new ResourceRegistry(ENGINE_KINDS.map((resource) => ({ resource, hasStatus: true })));
  const store = await LocalStore.open({ path: join(driver.stateDir, "store"), registry });
  try {
    assert.deepEqual(await findLeaks({ store, host, stateDir: driver.stateDir }), []);
  } finally {
    await store.close();
  }
}
