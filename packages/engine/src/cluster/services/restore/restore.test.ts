import assert from "node:assert/strict";
import { readFile, rename, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { defined, mutate } from "@mooring/store";
import { covers, everyday, sample, thorough } from "@mooring/store/testing";
import { Snapshots } from "../../../api/snapshot.ts";
import { Volumes } from "../../../api/volume.ts";
import { Bench, NODE } from "../../../testing/agent.ts";
import { MIB } from "../../../testing/scratch.ts";
import { ticketStatus } from "../../../tickets/tickets.ts";
import { endWorkload, idle, mountFor, unpublish } from "../testing/filesystem.ts";

const TICKET = "volume-restore-controller-v-p-1";

function restoreFrom(bench: Bench, snapshot: string, request?: string) {
  return mutate(bench.store, Volumes, { name: "v-p-1" }, (volume) => {
    volume.spec.restoreFrom = { snapshot, ...defined({ request }) };
  });
}

const finished = (bench: Bench, state: "Restored" | "Failed", request?: string) =>
  bench.volumeWhere(
    "v-p-1",
    (v) => v.status?.restore?.state === state && v.status.restore.request === request,
  );

/** A volume with "first" in a file, a snapshot of that, and then "second". */
async function changed(bench: Bench): Promise<string> {
  await bench.createVolume("v-p-1");
  await bench.volume("v-p-1", "detached");
  const target = await mountFor(bench, "v-p-1");
  await writeFile(join(target, "f"), "first", { flush: true });
  await bench.createSnapshot("s-p-1", "v-p-1");
  await bench.snapshot("s-p-1");
  await writeFile(join(target, "f"), "second", { flush: true });
  return target;
}

for (const type of sample(["xfs", "btrfs"] as const, { everyday: 1 })) {
  test(`${type}: a workload keeps its volume, then the restore takes it, then the next workload has the old bytes`, async (t) => {
    covers("LHA-011", "LHA-023");
    const bench = await Bench.open(t, type, { tickets: true });
    const target = await changed(bench);
    await restoreFrom(bench, "s-p-1");
    await bench.ticketsUntil(
      "v-p-1",
      (a) => ticketStatus(a, TICKET)?.conditions[0]?.reason === "AttachedWithIncompatibleParameters",
    );
    assert.equal(await readFile(join(target, "f"), "utf8"), "second");
    const seen = bench.ticketsUntil("v-p-1", (a) => ticketStatus(a, TICKET)?.satisfied === true);
    await endWorkload(bench, "v-p-1");
    await bench.ask("v-p-1", "csi-next");
    assert.ok((await seen).includes(`${TICKET} volume-restore-controller ${NODE}`));
    await finished(bench, "Restored");
    await bench.volume("v-p-1", "attached", (v) => v.status?.frontendDisabled === false);
    await unpublish(bench, "v-p-1", "csi-next");
    assert.equal(await readFile(join(await mountFor(bench, "v-p-1"), "f"), "utf8"), "first");
    await endWorkload(bench, "v-p-1");
    await idle(bench, "v-p-1");
  });
}

test(
  "the same snapshot is restored once per request, and a volume that has grown keeps its size",
  thorough(),
  async (t) => {
    const bench = await Bench.open(t, "xfs", { tickets: true });
    await changed(bench);
    await endWorkload(bench, "v-p-1");
    await bench.resize("v-p-1", 128 * MIB);
    await restoreFrom(bench, "s-p-1", "1");
    await finished(bench, "Restored", "1");
    await idle(bench, "v-p-1");
    await bench.volume(
      "v-p-1",
      "detached",
      (v) => v.status?.expansion === undefined && v.status?.size === 128 * MIB,
    );
    const target = await mountFor(bench, "v-p-1");
    const { blocks, bsize } = await statfs(target);
    assert.ok(blocks * bsize > 100 * MIB);
    await writeFile(join(target, "f"), "third", { flush: true });
    await endWorkload(bench, "v-p-1");
    await idle(bench, "v-p-1");
    assert.equal(await readFile(join(await mountFor(bench, "v-p-1"), "f"), "utf8"), "third");
    await endWorkload(bench, "v-p-1");
    await restoreFrom(bench, "s-p-1", "2");
    await finished(bench, "Restored", "2");
    assert.equal(await readFile(join(await mountFor(bench, "v-p-1"), "f"), "utf8"), "first");
    await endWorkload(bench, "v-p-1");
  },
);

test("a folder volume goes back as well", thorough(), async (t) => {
  const bench = await Bench.open(t, "directory", { tickets: true });
  await bench.createVolume("v-p-1");
  await bench.volume("v-p-1", "detached");
  const file = join(bench.imagePath("v-p-1"), "data", "f");
  await writeFile(file, "first");
  await bench.createSnapshot("s-p-1", "v-p-1");
  await bench.snapshot("s-p-1");
  await writeFile(file, "second");
  await restoreFrom(bench, "s-p-1");
  await finished(bench, "Restored");
  assert.equal(await readFile(file, "utf8"), "first");
  await idle(bench, "v-p-1");
  await writeFile(file, "third");
  await mutate(
    bench.store,
    Volumes,
    { name: "v-p-1" },
    {
      change: ({ status }) => {
        delete status?.restore;
      },
      subresource: "status",
    },
  );
  await finished(bench, "Restored");
  assert.equal(
    await readFile(file, "utf8"),
    "third",
    "an older record that is back asks for nothing once more",
  );
  await idle(bench, "v-p-1");
});

test("a lost image comes back from a snapshot", everyday(), async (t) => {
  const bench = await Bench.open(t, "xfs", { tickets: true });
  await changed(bench);
  await endWorkload(bench, "v-p-1");
  await idle(bench, "v-p-1");
  await rename(bench.imagePath("v-p-1"), `${bench.imagePath("v-p-1")}.aside`);
  await bench.ask("v-p-1");
  await bench.volume("v-p-1", "detached", (v) => v.status?.robustness === "faulted");
  await bench.drop("v-p-1");
  await restoreFrom(bench, "s-p-1");
  const healed = await finished(bench, "Restored");
  assert.notEqual(healed.status?.robustness, "faulted");
  assert.equal(await readFile(join(await mountFor(bench, "v-p-1"), "f"), "utf8"), "first");
  await endWorkload(bench, "v-p-1");
});

test(
  "a restore that cannot end well is refused with the reason, and nothing is touched",
  everyday(),
  async (t) => {
    const bench = await Bench.open(t, "xfs", { tickets: true });
    for (const name of ["v-p-1", "v-p-2"]) {
      await bench.createVolume(name);
      await bench.volume(name, "detached");
    }
    await bench.createSnapshot("s-p-2", "v-p-2");
    await bench.snapshot("s-p-2");
    await restoreFrom(bench, "s-p-2", "other");
    assert.match(
      (await finished(bench, "Failed", "other")).status?.restore?.message ?? "",
      /is of volume v-p-2/,
    );
    await restoreFrom(bench, "s-p-9", "none");
    assert.match(
      (await finished(bench, "Failed", "none")).status?.restore?.message ?? "",
      /no snapshot s-p-9/,
    );
    const { status } = await idle(bench, "v-p-1");
    assert.equal(status?.error, undefined);
    await bench.deleted(Snapshots, "s-p-2");
  },
);
