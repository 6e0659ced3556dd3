import assert from "node:assert/strict";
import { test } from "node:test";
import { armFailpoint, mutate } from "@mooring/store";
import { Volumes } from "../../api/volume.ts";
import { unpublish } from "../../cluster/services/testing/filesystem.ts";
import { createHost } from "../../host/create-host.ts";
import type { Exec } from "../../host/host.ts";
import { Bench } from "../../testing/agent.ts";
import { attachmentAt } from "../../testing/attachment-at.ts";

/** Reads of this image never end, whatever is sent to the program: as below a disk that does not respond any more. */
function withoutResponse(exec: Exec, image: string): Exec {
  const silent = (args: readonly string[]) => args.some((arg) => arg.endsWith(`/${image}.img`));
  return {
    run: (file, args, options) => exec.run(file, args, options),
    try: (file, args, options) =>
      file === "dd" && silent(args) ? new Promise(() => {}) : exec.try(file, args, options),
  };
}

test("a disk that does not respond is no fault, and keeps nobody from finding another one that fails", async (t) => {
  const real = createHost();
  const host = { ...real, exec: withoutResponse(real.exec, "v-p-1") };
  const bench = await Bench.open(t, "xfs", { tickets: true, host });
  for (const name of ["v-p-1", "v-p-2"]) {
    await bench.createVolume(name);
    await bench.ask(name);
  }
  const attached = (name: string) => bench.volume(name, "attached", (v) => v.status?.device !== undefined);
  await attached("v-p-1");
  const { status } = await attached("v-p-2");
  await real.loops.fence(await attachmentAt(real, status?.device));
  await bench.volumeWhere("v-p-2", (v) => v.status?.salvage?.state === "Clean");
  assert.equal((await attached("v-p-1")).status?.salvage, undefined);
  for (const name of ["v-p-1", "v-p-2"]) await unpublish(bench, name);
});

test("a device that is fenced off is recorded as a fault, and not read anew again and again before", async (t) => {
  const bench = await Bench.open(t, "xfs", { tickets: true });
  await bench.createVolume("v-p-1");
  await bench.ask("v-p-1");
  const { status } = await bench.volume("v-p-1", "attached", (v) => v.status?.device !== undefined);
  const faulted = bench.volumeWhere("v-p-1", (v) => v.status?.robustness === "faulted");
  const passed = armFailpoint(undefined);
  await bench.host.loops.fence(await attachmentAt(bench.host, status?.device));
  // The agent reads the volume before its probe has found out.
  await mutate(bench.store, Volumes, { name: "v-p-1" }, ({ metadata }) => {
    metadata.labels = { ...metadata.labels, touched: "yes" };
  });
  await faulted;
  assert.deepEqual(
    passed.filter((name) => /refresh/.test(name)),
    [],
  );
  await bench.volumeWhere("v-p-1", (v) => v.status?.salvage?.state === "Clean");
  await unpublish(bench, "v-p-1");
});
