import assert from "node:assert/strict";
import { test } from "node:test";
import { defined } from "@mooring/store";
import type { AttacherType, AttachmentTicket } from "../../../api/attachment.ts";
import { remountsOwed } from "../../../api/remount.ts";
import { Volumes } from "../../../api/volume.ts";
import { Bench, NODE } from "../../../testing/agent.ts";

const ASKED = "2026-01-01T00:00:10.000Z";
const ticket = (id: string, type: AttacherType, nodeID: string, createdAt?: string): AttachmentTicket => ({
  ...{ id, type, nodeID },
  ...defined({ createdAt }),
});
const owed = (tickets: AttachmentTicket[], remounted?: Record<string, string>) =>
  remountsOwed(
    { status: { state: "attached", remountRequestedAt: ASKED, ...(remounted && { remounted }) } },
    tickets,
  ).map(({ id }) => id);

test("who had the volume when it asked owes a new mount, until the node has made one; who came later does not", () => {
  const before = "2026-01-01T00:00:09Z";
  const tickets = [
    ticket("old", "csi-attacher", "a", before),
    ticket("operator", "longhorn-api", "b", before),
    ticket("of-no-age", "csi-attacher", "c"),
    ticket("new", "csi-attacher", "d", "2026-01-01T00:00:11Z"),
    ticket("job", "salvage-controller", "a", before),
    ticket("server", "share-manager-controller", "a", before),
  ];
  assert.deepEqual(owed(tickets), ["old", "operator", "of-no-age"]);
  assert.deepEqual(
    owed(tickets, { a: ASKED, b: before }),
    ["operator", "of-no-age"],
    "b has handled an earlier one",
  );
  assert.deepEqual(remountsOwed({ status: { state: "attached" } }, tickets), []);
});

test("a request to mount a volume again ends with the last that had it before, however they do it", async (t) => {
  const bench = await Bench.open(t, "xfs", { tickets: true });
  await bench.createVolume("v-p-1");
  await bench.volume("v-p-1", "detached");
  const request = async () => (await bench.store.get(Volumes, { name: "v-p-1" })).status?.remountRequestedAt;
  const ask = async () => {
    const remountRequestedAt = new Date().toISOString();
    await bench.patchStatus("v-p-1", { remountRequestedAt });
    return remountRequestedAt;
  };
  const handled = () =>
    bench.volumeWhere(
      "v-p-1",
      ({ status: s }) => s?.remountRequestedAt === undefined && s?.remounted === undefined,
    );
  // Nobody has it.
  await ask();
  await handled();
  await bench.ask("v-p-1");
  await bench.volume("v-p-1", "attached");
  const first = await ask();
  await bench.patchStatus("v-p-1", { remounted: { "another-node": first } });
  await bench.patchStatus("v-p-1", { remounted: { [NODE]: "2020-01-01T00:00:00Z" } });
  assert.equal(await request(), first, "its workload has not handled it");
  await bench.patchStatus("v-p-1", { remounted: { [NODE]: first } });
  await handled();
  await ask();
  await bench.drop("v-p-1");
  await handled();
});
