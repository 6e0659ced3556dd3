import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readdir, readlink, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { testRegistry, Widgets, widget } from "../contract/kinds.ts";
import { LocalStore } from "./local-store.ts";

const run = promisify(execFile);

/** What this process has open. Descriptors come and go while it reads, as those of its other tests' programs. */
async function openHere(): Promise<string[]> {
  const numbers = await readdir("/proc/self/fd");
  return Promise.all(
    numbers.map((number) => readlink(`/proc/self/fd/${number}`).catch(() => "closed meanwhile")),
  );
}

test("no program that is started has the store open, at whatever descriptor", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "mooring-store-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const store = await LocalStore.open({ path: folder, registry: testRegistry() });
  t.after(() => store.close());
  await store.create(Widgets, widget("a"));
  const ours = await openHere();
  assert.match(ours.join("\n"), /store\.mdb/, "what the programs must not have is not even open here");
  // The shell's own listing: what it was started with.
  const theirs = await run("sh", ["-c", "ls -l /proc/$$/fd"]);
  assert.doesNotMatch(theirs.stdout, /store\.mdb/);
  await store.create(Widgets, widget("b"));
});
