import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type CallContext, type CsiError, NOTHING_MADE } from "@mooring/csi";
import {
  ENGINE_KINDS,
  type GroupSnapshot,
  GroupSnapshots,
  MOORING_API_VERSION,
  type Snapshot,
  Snapshots,
} from "@mooring/engine";
import { getIfAny, LocalStore, type ObjectStore, ResourceRegistry } from "@mooring/store";
import type { DriverContext } from "../context.ts";
import { createGroupSnapshot } from "../group-controller/create.ts";
import { groupSnapshotIdOf, snapshotIdOf } from "../names.ts";
import { createSnapshot } from "./create-snapshot.ts";

const LOST = { code: "DATA_LOSS", message: "the image of snapshot s-1 is gone" };
const call = { signal: new AbortController().signal } as CallContext;

async function driverOn(t: TestContext): Promise<{ store: ObjectStore; driver: DriverContext }> {
  const path = await mkdtemp(join(tmpdir(), "mooring-lost-"));
  const registry = new ResourceRegistry(ENGINE_KINDS.map((resource) => ({ resource, hasStatus: true })));
  const store = await LocalStore.open({ path, registry });
  t.after(async () => {
    await store.close();
    await rm(path, { recursive: true });
  });
  // What is there already needs nothing else.
  return { store, driver: { store } as Partial<DriverContext> as DriverContext };
}

/** As a restore of the state leaves it whose copy is from before the caller had its response, and before the deletion. */
const status = { creationTime: "2026-01-01T00:00:00Z", readyToUse: false, error: LOST };

const failure = (result: Promise<unknown>): Promise<CsiError> =>
  result.then(
    () => assert.fail("it succeeded"),
    (error: CsiError) => error,
  );

test("a snapshot whose image has gone is an end for a caller that still waits for it: nothing is left of it", async (t) => {
  const { store, driver } = await driverOn(t);
  const key = { name: snapshotIdOf("monday") };
  const snapshot: Snapshot = {
    ...{ apiVersion: MOORING_API_VERSION, kind: "Snapshot", metadata: key },
    spec: { volume: "v-1", pool: "default" },
  };
  const made = await store.create(Snapshots, snapshot);
  await store.updateStatus(Snapshots, { ...made, status });
  const request = { name: "monday", sourceVolumeId: "v-1", parameters: {} };
  const error = await failure(createSnapshot(driver, request as never, call));
  assert.deepEqual([error.codeName, error.reason, error.message], ["DATA_LOSS", NOTHING_MADE, LOST.message]);
  assert.equal(await getIfAny(store, Snapshots, key), undefined);
});

test("so is a group snapshot that has lost a member before its caller had it", async (t) => {
  const { store, driver } = await driverOn(t);
  const key = { name: groupSnapshotIdOf("together") };
  const group: GroupSnapshot = {
    ...{ apiVersion: MOORING_API_VERSION, kind: "GroupSnapshot", metadata: key },
    spec: { members: [{ volume: "v-1", snapshot: "s-1", pool: "default" }] },
  };
  const made = await store.create(GroupSnapshots, group);
  await store.updateStatus(GroupSnapshots, {
    ...made,
    status: { ...status, state: "committed", attempt: 1 },
  });
  const request = { name: "together", sourceVolumeIds: ["v-1"], parameters: {} };
  const error = await failure(createGroupSnapshot(driver, request as never, call));
  assert.deepEqual([error.codeName, error.reason, error.message], ["DATA_LOSS", NOTHING_MADE, LOST.message]);
  assert.equal(await getIfAny(store, GroupSnapshots, key), undefined);
});
