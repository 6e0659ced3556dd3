import assert from "node:assert/strict";
import { mkdir, open, readFile } from "node:fs/promises";
import { test } from "node:test";
import { covers, everyday, sample } from "@mooring/store/testing";
import { VolumeAttachments } from "../../../api/attachment.ts";
import { Snapshots } from "../../../api/snapshot.ts";
import { createHost } from "../../../host/create-host.ts";
import type { Exec, Host } from "../../../host/host.ts";
import { Bench, NODE, until } from "../../../testing/agent.ts";

const none = (a: { spec: { attachmentTickets?: object } }) =>
  Object.keys(a.spec.attachmentTickets ?? {}).length === 0;

for (const type of sample(["xfs", "btrfs", "directory"] as const, { everyday: 1 })) {
  test(`${type}: a detached volume is attached by a ticket, without its device, copied and detached`, async (t) => {
    covers("LHA-003", "LHA-046", "LHA-047");
    const bench = await Bench.open(t, type, { tickets: true });
    await bench.createVolume("v-p-1");
    await bench.volume("v-p-1", "detached");
    const history = bench.ticketsUntil("v-p-1", (a) => none(a) && (a.metadata.generation ?? 0) > 2);
    const attached = bench.volume("v-p-1", "attached");
    await bench.createSnapshot("s-p-1", "v-p-1");
    const volume = await attached;
    assert.deepEqual([volume.spec.nodeID, volume.spec.disableFrontend], [NODE, true]);
    assert.equal(volume.status?.frontendDisabled, true);
    const made = await bench.snapshot("s-p-1");
    assert.equal(made.status?.error, undefined);
    assert.deepEqual(await history, [`snapshot-controller-s-p-1 snapshot-controller ${NODE}`]);
    const free = await bench.volume("v-p-1", "detached");
    assert.equal(free.spec.nodeID, "");
  });
}

test(
  "a snapshot beside a workload changes nothing for it, also when the workload comes and goes meanwhile",
  everyday(),
  async (t) => {
    const bench = await Bench.open(t, "xfs", { tickets: true });
    await bench.createVolume("v-p-1", { volumeMode: "Block" });
    await bench.volume("v-p-1", "detached");
    await bench.ask("v-p-1");
    const attached = await bench.volume("v-p-1", "attached");
    assert.equal(attached.status?.frontendDisabled, false);
    const user = await open(attached.status?.device ?? "", "r+");
    await user.write("written", 4096);
    for (const n of [1, 2, 3]) await bench.createSnapshot(`s-p-${n}`, "v-p-1");
    for (const n of [1, 2, 3]) await bench.snapshot(`s-p-${n}`);
    await user.close();
    const after = await bench.volume("v-p-1", "attached");
    assert.equal(after.status?.device, attached.status?.device);
    assert.equal(after.status?.remountRequestedAt, undefined);
    const bytes = await readFile(bench.imagePath("s-p-3"));
    assert.equal(bytes.subarray(4096, 4103).toString(), "written");
    await bench.drop("v-p-1");
    await bench.volume("v-p-1", "detached");
  },
);

test(
  "13049, 6652: no ticket is left behind by a snapshot that is deleted before it is made",
  everyday(),
  async (t) => {
    const bench = await Bench.open(t, "xfs", { tickets: true });
    await bench.createVolume("v-p-1");
    await bench.volume("v-p-1", "detached");
    const names = [1, 2, 3, 4, 5].map((n) => `s-p-${n}`);
    await Promise.all(names.map((name) => bench.createSnapshot(name, "v-p-1")));
    await Promise.all(names.map((name) => bench.deleted(Snapshots, name)));
    await until(bench.store, VolumeAttachments, "v-p-1", none);
    await bench.volume("v-p-1", "detached");
  },
);

/** A host whose `cp` waits until the test ends it, as that of a large folder does. */
function slowCopies(): { host: Host; begun: Promise<void>; release: () => void } {
  const real = createHost();
  let begin = () => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  let slow = true;
  const run: Exec["run"] = async (file, args, options = {}) => {
    if (file !== "cp" || !slow) return real.exec.run(file, args, options);
    begin();
    await new Promise((_, reject) => {
      options.signal?.addEventListener("abort", () => reject(options.signal?.reason), { once: true });
    });
    throw new Error("never");
  };
  const exec: Exec = { run, try: (...args) => real.exec.try(...args) };
  return {
    host: { ...real, exec },
    begun,
    release: () => {
      slow = false;
    },
  };
}

test(
  "12489: a copy in progress ends when its volume has to leave; nothing is half-made, and it is made again",
  everyday(),
  async (t) => {
    const { host, begun, release } = slowCopies();
    const bench = await Bench.open(t, "directory", { host });
    await bench.createVolume("v-p-1");
    await bench.volume("v-p-1", "detached");
    await bench.attached("v-p-1");
    await bench.createSnapshot("s-p-1", "v-p-1");
    await begun;
    await bench.detached("v-p-1");
    const made = await bench.snapshot("s-p-1", (s) => s.status?.error !== undefined);
    assert.equal(made.status?.error?.code, "ABORTED");
    assert.equal(made.status?.failures, 1);
    assert.equal(made.status?.creationTime, undefined);
    release();
    await bench.attached("v-p-1");
    const ready = await bench.snapshot("s-p-1");
    assert.deepEqual([ready.status?.error, ready.status?.failures], [undefined, undefined]);
  },
);

test(
  "12489: a snapshot that cannot be made lets its volume detach between its attempts, and is made once it can be",
  everyday(),
  async (t) => {
    const bench = await Bench.open(t, "directory", { tickets: true });
    await bench.createVolume("v-p-1");
    await bench.volume("v-p-1", "detached");
    await bench.ask("v-p-1");
    const { status } = await bench.volume("v-p-1", "attached");
    const target = `${bench.dir}/m`;
    await mkdir(target);
    await bench.host.mounts.bind(status?.device ?? "", target, { readOnly: false });
    await bench.createSnapshot("s-p-1", "v-p-1");
    await bench.snapshot("s-p-1", (s) => (s.status?.failures ?? 0) >= 2);
    await until(bench.store, VolumeAttachments, "v-p-1", (a) => {
      const ids = Object.keys(a.spec.attachmentTickets ?? {});
      return ids.length === 1 && ids[0] === "csi-w";
    });
    await bench.host.mounts.unmount(target);
    await bench.drop("v-p-1");
    await bench.snapshot("s-p-1");
    await bench.volume("v-p-1", "detached");
    await until(bench.store, VolumeAttachments, "v-p-1", none);
  },
);
