import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { controlGroup } from "../../node/group-snapshot/testing/use-volume.ts";
import { armFreezer } from "./freezer.ts";

const isFrozen = async (path: string): Promise<boolean> =>
  (await readFile(join(path, "cgroup.freeze"), "utf8")) === "1\n";

test("a control group that two of us keep still goes on when the last of them lets it go", async (t) => {
  const path = await controlGroup(t);
  const arm = () => armFreezer([{ kind: "cgroup", path }], 600);
  const [first, second] = await Promise.all([arm(), arm()]);
  await Promise.all([first.freeze(), second.freeze()]);
  assert.equal(await first.thaw(), true);
  assert.equal(await isFrozen(path), true);
  assert.equal(await second.thaw(), true);
  assert.equal(await isFrozen(path), false);
});

test("many who let one control group go at the same time leave nobody still", async (t) => {
  const path = await controlGroup(t);
  const all = await Promise.all(Array.from({ length: 8 }, () => armFreezer([{ kind: "cgroup", path }], 600)));
  await Promise.all(all.map((freezer) => freezer.freeze()));
  await Promise.all(all.map((freezer) => freezer.thaw()));
  assert.equal(await isFrozen(path), false);
});

test("a control group that somebody else keeps still is refused, and stays as it is", async (t) => {
  const path = await controlGroup(t);
  await writeFile(join(path, "cgroup.freeze"), "1");
  const freezer = await armFreezer([{ kind: "cgroup", path }], 600);
  await assert.rejects(freezer.freeze(), /is busy: it is frozen/);
  assert.equal(await isFrozen(path), true);
});
