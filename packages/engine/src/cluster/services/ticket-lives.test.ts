import assert from "node:assert/strict";
import { test } from "node:test";
import { sample } from "@mooring/store/testing";
import type { AttacherType } from "../../api/attachment.ts";
import { MOORING_API_VERSION } from "../../api/names.ts";
import { Snapshots } from "../../api/snapshot.ts";
import { Bench, NODE } from "../../testing/agent.ts";
import { addTicket, removeTickets, ticketStatus } from "../../tickets/tickets.ts";
import { idle, unpublish } from "./testing/filesystem.ts";

/** Jobs whose data movement comes later; the life of their tickets is the same. */
const JOBS: readonly AttacherType[] = [
  "backup-controller",
  "volume-eviction-controller",
  "volume-rebuilding-controller",
  "bim-ds-controller",
];

for (const type of sample(JOBS, { everyday: 1 })) {
  test(`${type}: its ticket keeps a volume attached without a device, lets workloads come and go beside it, and dies with its owner`, async (t) => {
    const bench = await Bench.open(t, "xfs", { tickets: true });
    await bench.createVolume("v-p-1");
    await bench.volume("v-p-1", "detached");
    // An object that waits for a volume that does not exist: alive, and doing nothing.
    const { metadata } = await bench.createSnapshot("s-p-owner", "v-p-none");
    const owner = {
      apiVersion: MOORING_API_VERSION,
      kind: "Snapshot",
      name: "s-p-owner",
      uid: metadata.uid ?? "",
    };
    const id = `${type}-job`;
    const parameters = { disableFrontend: "any" };
    await addTicket(bench.store, "v-p-1", { id, type, nodeID: NODE, parameters, owner }, { now: new Date() });
    await bench.ticketsUntil("v-p-1", (a) => ticketStatus(a, id)?.satisfied === true);
    const first = await bench.volume("v-p-1", "attached");
    assert.equal(first.status?.frontendDisabled, true);

    await bench.ask("v-p-1");
    const shown = await bench.volume("v-p-1", "attached", ({ status }) => status?.frontendDisabled === false);
    assert.equal(shown.status?.device, first.status?.device);
    await unpublish(bench, "v-p-1");
    const hidden = await bench.volume("v-p-1", "attached", ({ status }) => status?.frontendDisabled === true);
    assert.equal(hidden.status?.device, first.status?.device);

    await bench.deleted(Snapshots, "s-p-owner");
    await idle(bench, "v-p-1");
    // Taken back twice: the second time there is nothing to do.
    assert.deepEqual(await removeTickets(bench.store, "v-p-1", (ticket) => ticket.id === id), []);
  });
}
