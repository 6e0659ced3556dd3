import assert from "node:assert/strict";
import { open, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { covers } from "@mooring/store/testing";
import { VolumeAttachments } from "../../../api/attachment.ts";
import { Volumes } from "../../../api/volume.ts";
import { Bench, NODE, until, volumeObject } from "../../../testing/agent.ts";
import { decide as arbitrate } from "../../arbiter/decide.ts";
import { ticket, view } from "../../arbiter/testing/build-view.ts";
import { endWorkload, idle, mountDevice, mountFor } from "../testing/filesystem.ts";
import { decide } from "./decide.ts";

const TICKET = "volume-clone-controller-v-p-2";
const FROM = { kind: "Volume" as const, name: "v-p-1" };

test("a volume that nobody uses is copied under tickets of one id on both, which end with the copy", async (t) => {
  covers("LHA-053", "LHA-054", "LHA-069");
  const bench = await Bench.open(t, "xfs", { tickets: true });
  await bench.createVolume("v-p-1");
  await bench.volume("v-p-1", "detached");
  const image = await open(bench.imagePath("v-p-1"), "r+");
  await image.write("payload", 4096);
  await image.close();
  const has = (a: { spec: { attachmentTickets?: Record<string, unknown> } }) =>
    a.spec.attachmentTickets?.[TICKET] !== undefined;
  const onSource = bench.ticketsUntil("v-p-1", has);
  const onTarget = bench.ticketsUntil("v-p-2", has);
  await bench.createVolume("v-p-2", { source: FROM });
  const line = `${TICKET} volume-clone-controller ${NODE}`;
  assert.deepEqual([await onSource, await onTarget], [[line], [line]]);
  await bench.volumeWhere("v-p-2", (v) => v.status?.size !== undefined);
  const bytes = await readFile(bench.imagePath("v-p-2"));
  assert.equal(bytes.subarray(4096, 4103).toString(), "payload");
  await idle(bench, "v-p-1");
  await idle(bench, "v-p-2");
});

test("a volume in use is copied beside its workload, and the copy is a volume of its own", async (t) => {
  const bench = await Bench.open(t, "xfs", { tickets: true });
  await bench.createVolume("v-p-1");
  await bench.volume("v-p-1", "detached");
  const target = await mountFor(bench, "v-p-1");
  const { status: before } = await bench.volume("v-p-1", "attached");
  await writeFile(join(target, "f"), "copied");
  await bench.createVolume("v-p-2", { source: FROM });
  await bench.volumeWhere("v-p-2", (v) => v.status?.size !== undefined);
  await writeFile(join(target, "f"), "changed", { flush: true });
  const { status: after } = await bench.volume("v-p-1", "attached");
  assert.deepEqual([after?.device, after?.frontendDisabled], [before?.device, false]);
  await endWorkload(bench, "v-p-1");
  await idle(bench, "v-p-1");
  await bench.ask("v-p-2");
  const copy = await bench.volume("v-p-2", "attached", (v) => v.status?.frontendDisabled === false);
  assert.equal(await readFile(join(await mountDevice(bench, copy, "ext4"), "f"), "utf8"), "copied");
  await endWorkload(bench, "v-p-2");
});

test("12206, 13335, 13639: no ticket outlives a copy that is given up, on either volume", async (t) => {
  const bench = await Bench.open(t, "xfs", { tickets: true });
  await bench.createVolume("v-p-1");
  await bench.volume("v-p-1", "detached");
  // Smaller than its source: it can never be made.
  await bench.createVolume("v-p-2", { source: FROM, size: 4 * 1024 * 1024 });
  await bench.volume("v-p-2", "creating", (v) => v.status?.error?.code === "OUT_OF_RANGE");
  await idle(bench, "v-p-1");
  const names = [3, 4, 5, 6].map((n) => `v-p-${n}`);
  await Promise.all(names.map((name) => bench.createVolume(name, { source: FROM })));
  await Promise.all(names.map((name) => bench.deleted(Volumes, name)));
  await until(
    bench.store,
    VolumeAttachments,
    "v-p-1",
    (a) => Object.keys(a.spec.attachmentTickets ?? {}).length === 0,
  );
  await idle(bench, "v-p-1");
});

test("a clone that waits after a failure gives its source up for a workload on another node, an active one does not", () => {
  const source = volumeObject("v-p-1");
  source.status = { state: "attached", size: 4096, ownerID: "a", currentNodeID: "a" };
  const target = volumeObject("v-p-2", { source: FROM });
  target.status = { state: "creating", ownerID: "a" };
  const workload = ticket("w", "csi-attacher", "b");
  const placed = () => {
    const [planned] = decide({ target, source }).tickets;
    assert.equal(planned?.volume, "v-p-1");
    const clone = { ...ticket(TICKET, "volume-clone-controller", "a"), ...planned?.wanted, generation: 1 };
    const spec = { nodeID: "a", disableFrontend: true };
    const status = { state: "attached" as const, currentNodeID: "a", frontendDisabled: true };
    return arbitrate(view({ tickets: [clone, workload], spec, status })).placement?.nodeID;
  };
  assert.equal(placed(), undefined);
  target.status.error = { code: "RESOURCE_EXHAUSTED", message: "the pool is full" };
  assert.equal(placed(), "");
});
