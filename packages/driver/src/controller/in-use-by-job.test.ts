import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import {
  addTicket,
  ENGINE_KINDS,
  getAttachment,
  removeTickets,
  startArbiter,
  ticketStatus,
  Volumes,
} from "@mooring/engine";
import { Events, LocalStore, ResourceRegistry, silentLogger } from "@mooring/store";
import { endAtRest, eventually } from "@mooring/store/testing";
import { capability, createVolume, failureOf, stage, startWorld } from "../testing/world.ts";

/** A driver on real devices whose arbiter can be stopped and started again. */
async function setUp(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), "mooring-job-"));
  const kinds = [...ENGINE_KINDS.map((resource) => ({ resource, hasStatus: true }))];
  const registry = new ResourceRegistry([...kinds, { resource: Events, hasStatus: false }]);
  const store = await LocalStore.open({ path: join(folder, "store"), registry });
  const world = await startWorld({ store });
  const arbiter = async () => {
    const stop = new AbortController();
    const { done } = await startArbiter({ store, logger: silentLogger, signal: stop.signal });
    return async () => {
      stop.abort();
      await done;
    };
  };
  let stopArbiter = await arbiter();
  const end = async () => {
    await stopArbiter();
    await world.end();
    await store.close();
    await rm(folder, { recursive: true });
  };
  t.after(() => endAtRest(end));
  const ticket = async (volume: string, id: string) => {
    const attachment = await getAttachment(store, volume);
    return attachment && { present: attachment.spec.attachmentTickets?.[id] !== undefined, attachment };
  };
  return {
    ...{ store, world },
    stop: () => stopArbiter(),
    start: async () => {
      stopArbiter = await arbiter();
    },
    satisfied: async (volume: string, id: string) => {
      const found = await ticket(volume, id);
      return found !== undefined && ticketStatus(found.attachment, id)?.satisfied === true;
    },
    csiTickets: async (volume: string) => {
      const { attachmentTickets = {} } = (await getAttachment(store, volume))?.spec ?? {};
      return Object.values(attachmentTickets).filter(({ type }) => type === "csi-attacher").length;
    },
  };
}

describe("a volume that a job needs longer than its workload", () => {
  test("10171: unpublish does not wait for the job, only until workloads cannot reach the device", async (t) => {
    const { store, world, stop, start, satisfied, csiTickets } = await setUp(t);
    const { client, nodeID } = world;
    const volumeId = await createVolume(world, "busy");
    const { path } = await stage(world, volumeId);
    const job = { id: "job", type: "backup-controller" as const, nodeID };
    await addTicket(store, volumeId, { ...job, parameters: { disableFrontend: "any" } }, { now: new Date() });
    await eventually("the job to have the volume", () => satisfied(volumeId, "job"));
    const { device } = (await store.get(Volumes, { name: volumeId })).status ?? {};
    await client.node.nodeUnstageVolume({ volumeId, stagingTargetPath: path });

    await stop();
    let returned = false;
    const unpublish = client.controller
      .controllerUnpublishVolume({ volumeId, nodeId: nodeID })
      .finally(() => {
        returned = true;
      });
    await eventually("the workload's ticket to go", async () => (await csiTickets(volumeId)) === 0);
    // A call that came later returns first.
    await client.controller.controllerGetVolume({ volumeId });
    assert.equal(returned, false, "nobody has hidden the device yet");
    await start();
    await unpublish;

    const { status } = await store.get(Volumes, { name: volumeId });
    assert.equal(status?.frontendDisabled, true);
    assert.deepEqual([status?.state, status?.currentNodeID, status?.device], ["attached", nodeID, device]);
    assert.equal(await satisfied(volumeId, "job"), true, "the job goes on");
    const volumeCapability = capability();
    const again = { volumeId, stagingTargetPath: path, volumeCapability };
    assert.equal((await failureOf(client.node.nodeStageVolume(again))).code, "FAILED_PRECONDITION");

    await removeTickets(store, volumeId, ({ id }) => id === "job");
    await eventually("the volume to be detached", async () => {
      const volume = await store.get(Volumes, { name: volumeId });
      return volume.status?.state === "detached";
    });
    await client.controller.deleteVolume({ volumeId });
  });
});
