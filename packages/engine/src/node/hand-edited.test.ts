import assert from "node:assert/strict";
import { readFile, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { mutate } from "@mooring/store";
import { covers } from "@mooring/store/testing";
import { type VolumeAttachment, VolumeAttachments } from "../api/attachment.ts";
import { type Volume, type VolumeStatus, Volumes } from "../api/volume.ts";
import { endWorkload, idle, mountFor } from "../cluster/services/testing/filesystem.ts";
import { Bench, NODE, until } from "../testing/agent.ts";
import { MIB } from "../testing/scratch.ts";
import { ticketStatus } from "../tickets/tickets.ts";

const FAULTED_AT = "2026-01-01T00:00:00.000Z";

/** What an operator may write into the status of a volume that a workload has mounted. */
const EDITS: readonly [string, (status: VolumeStatus) => VolumeStatus | undefined][] = [
  ["robustness: faulted", (status) => ({ ...status, robustness: "faulted" })],
  [
    "a fault that was repaired long ago",
    (status) => ({
      ...status,
      robustness: "faulted",
      salvage: { cause: "filesystem", faultedAt: FAULTED_AT, state: "Repaired", message: "m" },
    }),
  ],
  ["state: detaching", (status) => ({ ...status, state: "detaching" })],
  ["state: detached", (status) => ({ ...status, state: "detached" })],
  ["state: attaching", (status) => ({ ...status, state: "attaching" })],
  ["state: creating", (status) => ({ ...status, state: "creating" })],
  ["state: deleting", (status) => ({ ...status, state: "deleting" })],
  ["another current node", (status) => ({ ...status, currentNodeID: "node-2" })],
  ["no current node", ({ currentNodeID: _, ...status }) => status],
  [
    "detached everywhere",
    ({ currentNodeID: _, device: __, ...status }) => ({ ...status, state: "detached" }),
  ],
  ["another device", (status) => ({ ...status, device: "/dev/loop9999" })],
  ["no device", ({ device: _, ...status }) => status],
  ["another owner", (status) => ({ ...status, ownerID: "node-2" })],
  ["a hidden device", (status) => ({ ...status, frontendDisabled: true })],
  ["a size that it never had", (status) => ({ ...status, size: 640 * MIB })],
  ["a smaller size", (status) => ({ ...status, size: 4096 })],
  ["no size", ({ size: _, ...status }) => status],
  ["no status at all", () => undefined],
];

/** The file system is not in the record when the whole of it was lost; everything else is as it was. */
function essence({ spec, status }: Volume) {
  const { state, currentNodeID, device, ownerID, frontendDisabled, size, robustness } = status ?? {};
  return { nodeID: spec.nodeID, state, currentNodeID, device, ownerID, frontendDisabled, size, robustness };
}

async function edit(bench: Bench, change: (status: VolumeStatus) => VolumeStatus | undefined): Promise<void> {
  const put = (volume: Volume): Volume => {
    const { status, ...rest } = volume;
    const next = change(status ?? assert.fail("no status"));
    return next === undefined ? rest : { ...rest, status: next };
  };
  await mutate(bench.store, Volumes, { name: "v-p-1" }, { change: put, subresource: "status" });
}

const satisfied = (a: VolumeAttachment) => ticketStatus(a, "csi-w")?.satisfied === true;

async function mounted(t: TestContext): Promise<{ bench: Bench; target: string; before: Volume }> {
  const bench = await Bench.open(t, "xfs", { tickets: true });
  await bench.createVolume("v-p-1");
  await bench.volume("v-p-1", "detached");
  const target = await mountFor(bench, "v-p-1");
  await writeFile(join(target, "f"), "0", { flush: true });
  await until(bench.store, VolumeAttachments, "v-p-1", satisfied);
  return { bench, target, before: await bench.volume("v-p-1", "attached") };
}

test("whatever is written by hand into the status of a volume in use, it stays attached to its device and the status is put right", async (t) => {
  covers("LHA-004");
  const { bench, target, before } = await mounted(t);
  const loop = await bench.host.loops.find(bench.imagePath("v-p-1"));
  for (const [what, change] of EDITS) {
    await edit(bench, change);
    const healed = await bench
      .volumeWhere("v-p-1", (volume) => {
        assert.equal(volume.spec.nodeID, NODE, what);
        return JSON.stringify(essence(volume)) === JSON.stringify(essence(before));
      })
      .catch((cause: unknown) => assert.fail(`${what}: ${String(cause)}`));
    await until(bench.store, VolumeAttachments, "v-p-1", satisfied);
    assert.equal(
      healed.status?.remountRequestedAt,
      undefined,
      `${what}: its workload has nothing to mount again`,
    );
    assert.deepEqual(await bench.host.loops.find(bench.imagePath("v-p-1")), loop, what);
    await writeFile(join(target, "f"), what, { flush: true });
    assert.equal(await readFile(join(target, "f"), "utf8"), what);
  }
  await endWorkload(bench, "v-p-1");
  await idle(bench, "v-p-1");
});

test("a status of a detached volume that has it attached opens nothing, and is put right", async (t) => {
  const bench = await Bench.open(t, "xfs", { tickets: true });
  await bench.createVolume("v-p-1");
  await bench.volume("v-p-1", "detached");
  for (const state of ["attached", "attaching", "detaching", "deleting", "creating"] as const) {
    await edit(bench, (status) => ({ ...status, state, currentNodeID: NODE, device: "/dev/loop9999" }));
    const healed = await bench.volume("v-p-1", "detached");
    assert.deepEqual([healed.status?.currentNodeID, healed.status?.device], [undefined, undefined], state);
    assert.equal(await bench.host.loops.find(bench.imagePath("v-p-1")), undefined);
  }
});

test("a lost image is not made anew, empty, because somebody wrote that the volume is being created", async (t) => {
  const bench = await Bench.open(t, "xfs", { tickets: true });
  await bench.createVolume("v-p-1");
  await bench.volume("v-p-1", "detached");
  await unlink(bench.imagePath("v-p-1"));
  await edit(bench, (status) => ({ ...status, state: "creating" }));
  const lost = await bench.volume("v-p-1", "detached", (v) => v.status?.robustness === "faulted");
  assert.equal(lost.status?.salvage?.cause, "image-lost");
});

test("a fault that is not repaired stays, whoever writes that the volume is healthy", async (t) => {
  const bench = await Bench.open(t, "xfs", { tickets: true });
  await bench.createVolume("v-p-1");
  await bench.volume("v-p-1", "detached");
  await bench.host.exec.run("truncate", ["--size", "4M", bench.imagePath("v-p-1")]);
  await bench.ask("v-p-1");
  await bench.volume("v-p-1", "detached", (v) => v.status?.salvage?.state === "NeedsConsent");
  await bench.host.exec.run("truncate", ["--size", "64M", bench.imagePath("v-p-1")]);
  await edit(bench, (status) => ({ ...status, robustness: "healthy" }));
  const again = await bench.volumeWhere("v-p-1", (v) => v.status?.robustness === "faulted");
  assert.notEqual(again.status?.state, "attached");
  await until(
    bench.store,
    VolumeAttachments,
    "v-p-1",
    (a) => ticketStatus(a, "csi-w")?.conditions[0]?.reason === "VolumeFaulted",
  );
});

test("the status of an attachment that is edited or deleted is built again, and nobody loses the volume by it", async (t) => {
  covers("LHA-031");
  const { bench, target, before } = await mounted(t);
  const { status: good } = await until(bench.store, VolumeAttachments, "v-p-1", satisfied);
  const edits: ((a: VolumeAttachment) => VolumeAttachment)[] = [
    ({ status: _, ...rest }) => rest,
    (a) => ({ ...a, status: { holder: "me", satisfied: 17, state: "nonsense", nodeID: "node-2" } }),
    (a) => ({
      ...a,
      status: {
        attachmentTicketStatuses: {
          "csi-w": { id: "csi-w", satisfied: false, conditions: [], generation: 1 },
        },
      },
    }),
    (a) => ({ ...a, status: { attachmentTicketStatuses: {}, generationCounter: 999 } }),
    (a) => ({
      ...a,
      status: { moves: { nodeID: "x", count: 99, basis: "x", movedAt: "2999-01-01T00:00:00Z" } },
    }),
  ];
  const results = (status: VolumeAttachment["status"]) => {
    const {
      generationCounter: _,
      moves: __,
      conditions: ___,
      attachmentTicketStatuses,
      ...summary
    } = status ?? {};
    const { satisfied, conditions } = attachmentTicketStatuses?.["csi-w"] ?? {};
    return JSON.stringify([Object.entries(summary).sort(), satisfied, conditions?.[0]?.reason]);
  };
  for (const change of edits) {
    await mutate(
      bench.store,
      VolumeAttachments,
      { name: "v-p-1" },
      { change: change, subresource: "status" },
    );
    await until(bench.store, VolumeAttachments, "v-p-1", ({ status }) => results(status) === results(good));
    assert.deepEqual(essence(await bench.volume("v-p-1", "attached")), essence(before));
  }
  await writeFile(join(target, "f"), "after all", { flush: true });
  await endWorkload(bench, "v-p-1");
  await idle(bench, "v-p-1");
});
