import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { controllersHere } from "./controllers.ts";

/** A folder with these files, as /sys/fs/cgroup may have them. */
async function hierarchy(t: TestContext, files: Record<string, string>): Promise<string> {
  const root = await mkdtemp("/tmp/mooring-controllers-");
  t.after(() => rm(root, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), text);
  }
  return root;
}

test("version 2 lists its controllers, and always filters devices", async (t) => {
  const root = await hierarchy(t, { "cgroup.controllers": "cpu memory\n" });
  assert.deepEqual([...(await controllersHere(root))].sort(), ["cpu", "devices", "freezer", "memory"]);
});

test("version 1 has a folder for each or for several; the unified one of a hybrid machine counts for nothing", async (t) => {
  const root = await hierarchy(t, {
    "cpu,cpuacct/cgroup.procs": "",
    "pids/cgroup.procs": "",
    "unified/cgroup.controllers": "memory\n",
    "unified/cgroup.procs": "",
  });
  const here = await controllersHere(root);
  assert.deepEqual(
    ["cpu", "memory", "pids", "devices"].filter((name) => here.has(name)),
    ["cpu", "pids"],
  );
});

test("a machine without control groups has no controllers", async (t) => {
  assert.deepEqual([...(await controllersHere(await hierarchy(t, {})))], []);
});
