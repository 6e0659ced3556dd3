import assert from "node:assert/strict";
import { readFile, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { thorough } from "@mooring/store/testing";
import { Kubectl } from "../support/kubectl.ts";
import { claim, pod } from "../support/manifests.ts";
import { mooring } from "../support/mooring.ts";
import { nothingRemains } from "../support/remains.ts";
import { Up } from "../support/up.ts";

const up = await Up.create();
after(() => up.dispose());

const state = (...args: string[]) => mooring("state", ...args, "--state-dir", up.stateDir);
const file = join(up.stateDir, "store", "store.mdb");
const refused = () =>
  mooring("up", "--state-dir", up.stateDir, "--listen", "127.0.0.1:0", "--node-name", "node-a");

test("the state is checked and copied while everything runs, and not restored", async () => {
  await up.start();
  const kubectl = new Kubectl(up.kubeconfig);
  await kubectl.run("create", "configmap", "kept", "--from-literal=word=untouched");
  const backup = await state("backup", join(up.stateDir, "by-hand.mdb"));
  assert.equal(backup.code, 0, backup.stderr);
  const checked = await state("check");
  assert.equal(checked.code, 0, checked.stderr);
  assert.match(checked.stdout, /store\.mdb is whole: \d+ objects.* in use/);
  assert.match(checked.stdout, /backups\/store-\S+\.mdb .* whole$/m);
  const restored = await state("restore");
  assert.equal(restored.code, 3);
  assert.match(restored.stderr, /in use by process \d+/);
});

test(
  "the state of one node is not started as another; through a symbolic link it is, and nothing is left",
  thorough(),
  async (t) => {
    assert.equal(await up.end("SIGTERM"), 0);
    const other = await mooring("up", "--state-dir", up.stateDir, "--node-name", "node-b");
    assert.equal(other.code, 2, other.stdout);
    assert.match(other.stderr, /is the state of node node-a, not of node-b\nnext: .*--node-name node-a/);
    const link = `${up.stateDir}.link`;
    await symlink(up.stateDir, link);
    t.after(() => rm(link));
    const linked = await Up.create({ stateDir: link });
    await linked.start();
    const kubectl = new Kubectl(linked.kubeconfig);
    await kubectl.apply(JSON.stringify(claim("default", "linked")));
    await kubectl.apply(
      JSON.stringify(pod("default", "linked", "exec sleep infinity", { mounts: { "/data": "linked" } })),
    );
    await kubectl.run("wait", "--for=condition=Ready", "pod/linked", "--timeout=120s");
    await kubectl.run("delete", "pod/linked", "pvc/linked");
    assert.equal(await linked.end("SIGTERM"), 0);
    await nothingRemains(up.stateDir);
  },
);

test("a damaged store starts nothing; check, up and doctor name what is damaged, and the way out", async () => {
  assert.equal(await up.end("SIGTERM"), 0);
  const bytes = await readFile(file);
  const whole = Buffer.from(bytes);
  for (let at = bytes.indexOf("untouched"); at >= 0; at = bytes.indexOf("untouched", at + 1))
    bytes.write("g", at + 8);
  await writeFile(file, bytes);
  const checked = await state("check");
  assert.equal(checked.code, 1);
  assert.match(checked.stdout, /configmaps default\/kept: its value is not what was written/);
  assert.match(checked.stderr, /^next: .*mooring state restore/m);
  const { code, stderr } = await refused();
  assert.equal(code, 2);
  assert.match(stderr, /configmaps default\/kept/);
  assert.match(stderr, new RegExp(`^next: .*mooring state restore --state-dir ${up.stateDir}`, "m"));
  const doctor = await mooring("doctor", "--state-dir", up.stateDir);
  assert.equal(doctor.code, 1);
  assert.match(doctor.stdout, /^store\s+fail\s+.*configmaps default\/kept/m);
  await writeFile(file, whole);
});

test(
  "a store that was truncated, emptied or has gone is never begun anew beside its old data",
  thorough(),
  async () => {
    await truncate(file, 20_000);
    assert.match((await refused()).stderr, /the file ends before it, at 20000 bytes/);
    await truncate(file, 0);
    assert.match((await refused()).stderr, /is empty, and a store was here/);
    await rm(file);
    await rm(join(up.stateDir, "store", "made"));
    const { code, stderr } = await refused();
    assert.equal(code, 2);
    assert.match(stderr, /is missing, and a store was here \(\S+pools\/default is there\)/);
    assert.match((await mooring("doctor", "--state-dir", up.stateDir)).stdout, /^store\s+fail\s+.*missing/m);
  },
);

test("a restored copy runs again, with everything that it had", async () => {
  const restored = await state("restore", join(up.stateDir, "by-hand.mdb"));
  assert.equal(restored.code, 0, restored.stderr);
  await up.start();
  const kubectl = new Kubectl(up.kubeconfig);
  assert.equal(await kubectl.run("get", "configmap", "kept", "-o", "jsonpath={.data.word}"), "untouched");
  await kubectl.run("create", "configmap", "after");
  assert.equal((await state("check")).code, 0);
});
