import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { mutate } from "@mooring/store";
import type { AttacherType, VolumeAttachment } from "../../api/attachment.ts";
import { MOORING_API_VERSION } from "../../api/names.ts";
import { type Snapshot, Snapshots } from "../../api/snapshot.ts";
import { type Volume, Volumes } from "../../api/volume.ts";
import { ruleOf } from "../../tickets/attacher-types.ts";
import { addTicket, removeTickets, ticketStatus } from "../../tickets/tickets.ts";
import { type ArbiterWorld, withArbiter } from "./testing/run-arbiter.ts";

/** Jobs whose controllers move data; here their life is driven by hand, to show what the arbiter owes them. */
const JOBS: readonly AttacherType[] = [
  "backup-controller",
  "volume-eviction-controller",
  "volume-rebuilding-controller",
  "bim-ds-controller",
];

const result = (id: string, reason: string) => (a: VolumeAttachment | undefined) =>
  (a === undefined ? undefined : ticketStatus(a, id))?.conditions[0]?.reason === reason;
const satisfied = (id: string) => result(id, "Attached");

/** A job and its object, as its controller would have them. */
class Job {
  readonly #world: ArbiterWorld;
  readonly type: AttacherType;

  constructor(world: ArbiterWorld, type: AttacherType) {
    this.#world = world;
    this.type = type;
  }

  async begin(): Promise<void> {
    const { store } = this.#world;
    const object: Snapshot = {
      ...{ apiVersion: MOORING_API_VERSION, kind: "Snapshot", metadata: { name: "job" } },
      spec: { volume: "v-1", pool: "p" },
    };
    await store.create(Snapshots, object);
    await this.askAgain();
  }

  /** Its ticket, as a controller that starts again writes it. */
  async askAgain(): Promise<void> {
    const { store } = this.#world;
    const { apiVersion, kind, metadata } = await store.get(Snapshots, { name: "job" });
    const owner = { apiVersion, kind, name: metadata.name, uid: metadata.uid ?? "" };
    const parameters = { disableFrontend: "any" };
    await addTicket(
      store,
      "v-1",
      { id: "job", type: this.type, nodeID: "a", owner, parameters },
      { now: new Date() },
    );
  }

  /** Records first that it is done, then gives its ticket back: killed in between, the object is there to show it. */
  async end(): Promise<void> {
    await this.conclude();
    await removeTickets(this.#world.store, "v-1", ({ id }) => id === "job");
  }

  async conclude(): Promise<void> {
    const done = (snapshot: Snapshot) => ({ ...snapshot, status: { readyToUse: true } });
    await mutate(this.#world.store, Snapshots, { name: "job" }, { change: done, subresource: "status" });
  }

  /** Its object is deleted while it works, and nobody cleans up. */
  async vanish(): Promise<void> {
    await this.#world.store.delete(Snapshots, { name: "job" });
  }
}

/** What the node's agent does when the arbiter has placed, or cleared, the volume. */
async function follow({ store, until }: ArbiterWorld, nodeID: string): Promise<Volume | undefined> {
  await until.volume((v) => (v.spec.nodeID ?? "") === nodeID);
  return mutate(
    store,
    Volumes,
    { name: "v-1" },
    {
      change: (v) => ({
        ...v,
        status: {
          state: nodeID === "" ? ("detached" as const) : ("attached" as const),
          currentNodeID: nodeID,
          frontendDisabled: v.spec.disableFrontend ?? false,
        },
      }),
      subresource: "status",
    },
  );
}

const workload = (world: ArbiterWorld, nodeID: string) =>
  addTicket(world.store, "v-1", { id: "w", type: "csi-attacher", nodeID }, { now: new Date() });

describe("bugs that a predecessor had with jobs, by their number there", () => {
  test("9168, 9417: a backup that never ends gives way to a workload, goes on after it, and ends with its object", () =>
    withArbiter(async (world) => {
      const job = new Job(world, "backup-controller");
      await job.begin();
      await follow(world, "a");
      await world.until.attachment(satisfied("job"));
      await workload(world, "b");
      await follow(world, "");
      await follow(world, "b");
      await world.until.attachment(satisfied("w"));
      await removeTickets(world.store, "v-1", ({ id }) => id === "w");
      await follow(world, "");
      await follow(world, "a");
      await world.until.attachment(satisfied("job"));
      await job.vanish();
      await follow(world, "");
      await world.until.attachment((a) => Object.keys(a?.spec.attachmentTickets ?? {}).length === 0);
    }));

  test("6654, 12472: a job that is killed between its last record and its release keeps that record, and leaks no ticket", () =>
    withArbiter(async (world) => {
      const job = new Job(world, "backup-controller");
      await job.begin();
      await follow(world, "a");
      await world.until.attachment(satisfied("job"));
      await job.conclude();
      const { status } = await world.store.get(Snapshots, { name: "job" });
      assert.equal(status?.readyToUse, true);
      // Nobody releases it any more: the object's end does.
      await job.vanish();
      await follow(world, "");
      await world.until.attachment((a) => Object.keys(a?.spec.attachmentTickets ?? {}).length === 0);
    }));

  test("9781, 9857, 11270, 11274: an eviction and a rebuilding that find no room for their data do not make the volume come and go", () =>
    withArbiter(async (world) => {
      for (const type of ["volume-eviction-controller", "volume-rebuilding-controller"] as const) {
        const job = new Job(world, type);
        await job.begin();
        await follow(world, "a");
        await world.until.attachment(satisfied("job"));
        // It fails and tries again: the same request again is no change, and moves nothing.
        const before = await world.store.get(Volumes, { name: "v-1" });
        for (let attempt = 0; attempt < 5; attempt += 1) await job.askAgain();
        const after = await world.store.get(Volumes, { name: "v-1" });
        assert.equal(after.metadata.resourceVersion, before.metadata.resourceVersion);
        await job.vanish();
        await follow(world, "");
        await world.until.attachment((a) => Object.keys(a?.spec.attachmentTickets ?? {}).length === 0);
      }
    }));
});

for (const type of JOBS) {
  describe(`the life of a ${type} job`, () => {
    test("it keeps a detached volume out of workloads' reach, and gives it back when it is done", () =>
      withArbiter(async (world) => {
        const job = new Job(world, type);
        await job.begin();
        const kept = await follow(world, "a");
        assert.equal(kept?.spec.disableFrontend, true);
        await world.until.attachment(satisfied("job"));
        await job.end();
        await follow(world, "");
        await world.until.attachment((a) => a?.status?.waiting === 0 && a.status.satisfied === 0);
      }));

    test("a workload on its node gets the device at once, and both go on", () =>
      withArbiter(async (world) => {
        await new Job(world, type).begin();
        await follow(world, "a");
        await world.until.attachment(satisfied("job"));
        await workload(world, "a");
        await world.until.volume((v) => v.spec.disableFrontend === false);
        await follow(world, "a");
        await world.until.attachment((a) => satisfied("job")(a) && satisfied("w")(a));
      }));

    test("a workload on another node sees what it waits for, and gets the volume in the end", () =>
      withArbiter(async (world) => {
        const job = new Job(world, type);
        await job.begin();
        await follow(world, "a");
        await world.until.attachment(satisfied("job"));
        await workload(world, "b");
        if (ruleOf(type).yields === "never") {
          await world.until.attachment(result("w", "BlockedByUninterruptible"));
          assert.equal((await world.store.get(Volumes, { name: "v-1" })).spec.nodeID, "a");
          await job.end();
        }
        await follow(world, "");
        await follow(world, "b");
        await world.until.attachment(satisfied("w"));
        await removeTickets(world.store, "v-1", ({ id }) => id === "w");
        await follow(world, "");
        // A job that gave way has kept its ticket, and goes on.
        if (ruleOf(type).yields !== "never") {
          await follow(world, "a");
          await world.until.attachment(satisfied("job"));
        }
      }));

    test("its object is deleted while it works: the volume is detached", () =>
      withArbiter(async (world) => {
        const job = new Job(world, type);
        await job.begin();
        await follow(world, "a");
        await world.until.attachment(satisfied("job"));
        await job.vanish();
        await follow(world, "");
        await world.until.attachment((a) => Object.keys(a?.spec.attachmentTickets ?? {}).length === 0);
      }));
  });
}
