import assert from "node:assert/strict";
import { open, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { mutate } from "@mooring/store";
import { type Volume, type VolumeSpec, Volumes } from "../api/volume.ts";
import { endWorkload, idle, mountDevice, mountFor } from "../cluster/services/testing/filesystem.ts";
import { Bench, NODE } from "../testing/agent.ts";

/** What an operator may write into the spec of a volume in use; the API server refuses to clear the node alone. */
const EDITS: readonly [string, Partial<VolumeSpec>][] = [
  ["nowhere, for nobody", { nodeID: "", lastAttachedBy: "" }],
  ["on another node", { nodeID: "node-2" }],
  ["on another node, for somebody else", { nodeID: "node-2", lastAttachedBy: "bob", disableFrontend: true }],
];

const edit = (bench: Bench, change: Partial<VolumeSpec>): Promise<Volume> =>
  mutate(bench.store, Volumes, { name: "v-p-1" }, (volume) => {
    Object.assign(volume.spec, change);
  });

/** The volume waits in `detaching` for whoever uses its device. */
const reported = (bench: Bench, why: RegExp): Promise<Volume> =>
  bench.volume("v-p-1", "detaching", ({ status }) => why.test(status?.error?.message ?? ""));

/** Attached again, for the ticket that was there all the time. */
const healed = (bench: Bench): Promise<Volume> =>
  bench.volume(
    "v-p-1",
    "attached",
    ({ spec, status }) =>
      spec.nodeID === NODE &&
      status?.currentNodeID === NODE &&
      status.frontendDisabled === false &&
      status.error === undefined,
  );

for (const [what, change] of EDITS) {
  test(`the spec of a mounted volume that says ${what}: its device stays until it is unmounted, that is reported, and it comes back`, async (t) => {
    const bench = await Bench.open(t, "xfs", { tickets: true });
    await bench.createVolume("v-p-1");
    await bench.volume("v-p-1", "detached");
    const target = await mountFor(bench, "v-p-1");
    const loop = await bench.host.loops.find(bench.imagePath("v-p-1"));
    await edit(bench, change);
    await reported(bench, /mounted at/);
    await writeFile(join(target, "f"), "written all the time", { flush: true });
    assert.deepEqual(await bench.host.loops.find(bench.imagePath("v-p-1")), loop);
    await bench.host.mounts.unmount(target);
    await mountDevice(bench, await healed(bench), "ext4");
    assert.equal(await readFile(join(target, "f"), "utf8"), "written all the time");
    await endWorkload(bench, "v-p-1");
    await idle(bench, "v-p-1");
  });

  test(`the spec of a raw volume in use that says ${what}: its device stays until it is closed, that is reported, and it comes back`, async (t) => {
    const bench = await Bench.open(t, "xfs", { tickets: true });
    await bench.createVolume("v-p-1", { volumeMode: "Block" });
    await bench.volume("v-p-1", "detached");
    await bench.ask("v-p-1");
    const { status } = await bench.volume("v-p-1", "attached");
    const user = await open(status?.device ?? "", "r+");
    t.after(() => user.close().catch(() => {}));
    await user.write("before", 4096);
    await edit(bench, change);
    await reported(bench, /a process has it open/);
    await user.write("after!", 8192);
    await user.datasync();
    assert.notEqual(await bench.host.loops.find(bench.imagePath("v-p-1")), undefined);
    await user.close();
    await healed(bench);
    const bytes = await readFile(bench.imagePath("v-p-1"));
    assert.equal(bytes.subarray(4096, 4102).toString(), "before");
    assert.equal(bytes.subarray(8192, 8198).toString(), "after!");
  });
}
