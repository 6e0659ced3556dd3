import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { mooring } from "../support/mooring.ts";
import { nothingRemains } from "../support/remains.ts";
import { Up } from "../support/up.ts";

const up = await Up.create({ poolSize: "1Gi" });
after(() => up.discard());
await up.start();
assert.equal(await up.end("SIGTERM"), 0);

const { stateDir } = up;
const refused = () =>
  mooring("up", "--state-dir", stateDir, "--listen", "127.0.0.1:0", "--node-name", "node-a");
const state = (...args: string[]) => mooring("state", ...args, "--state-dir", stateDir);

const KINDS = {
  "a folder": (path: string) => mkdir(path),
  "a FIFO": async (path: string) => execFileSync("mkfifo", [path]),
  "a regular file": (path: string) => writeFile(path, ""),
};

for (const [file, kind] of [
  ["store/store.mdb", "a folder"],
  ["store/store.mdb", "a FIFO"],
  ["store/store.mdb-lock", "a folder"],
  ["store/owner", "a folder"],
  ["store/owner", "a FIFO"],
  ["node-name", "a folder"],
  ["node-name", "a FIFO"],
  ["pki/token", "a folder"],
  ["pki/ca.crt", "a folder"],
  ["pki/service-accounts.key", "a folder"],
  ["kubeconfig", "a folder"],
  ["kubelet/pods", "a regular file"],
  ["pools/default/pool.json", "a folder"],
  ["pools/default/pool.json", "a FIFO"],
  ["pools/default/lock", "a FIFO"],
] as const)
  test(`${kind} as ${file} is refused with its path and what to do, and nothing stays open`, async (t) => {
    const path = join(stateDir, file);
    // LMDB's lock is there only where there is no memory for it.
    const present = existsSync(path);
    if (present) await rename(path, `${path}.away`);
    t.after(async () => {
      await rm(path, { recursive: true });
      if (present) await rename(`${path}.away`, path);
    });
    await KINDS[kind](path);
    const { code, stderr } = await refused();
    assert.equal(code, 2, stderr.slice(-500));
    assert.match(stderr, new RegExp(`^error: .*${file} is ${kind}, not a`, "m"));
    assert.match(stderr, /move it away/);
    await nothingRemains(stateDir);
  });

test("doctor reports a store that is no file", async (t) => {
  const file = join(stateDir, "store/store.mdb");
  await rename(file, `${file}.away`);
  t.after(async () => {
    await rm(file, { recursive: true });
    await rename(`${file}.away`, file);
  });
  await mkdir(file);
  const { code, stdout } = await mooring("doctor", "--state-dir", stateDir);
  assert.equal(code, 1, stdout);
  assert.match(stdout, /^store +fail +.*store\.mdb is a folder, not a regular file/m);
});

test("what is no file is neither checked nor restored, and no copy goes where there is no folder", async (t) => {
  const fifo = join(stateDir, "fifo");
  execFileSync("mkfifo", [fifo]);
  t.after(() => rm(fifo));
  for (const command of ["check", "restore"])
    for (const [path, kind] of [
      [stateDir, "a folder"],
      [fifo, "a FIFO"],
    ] as const) {
      const { code, stderr } = await state(command, path);
      assert.equal(code, 2, stderr);
      assert.match(stderr, new RegExp(`^error: ${path} is ${kind}, not a regular file\nnext: `, "m"));
    }
  const { code, stderr } = await state("backup", "/no/such/folder/copy.mdb");
  assert.equal(code, 2, stderr);
  assert.match(stderr, /^error: .*\/no\/such\/folder.*\nnext: /);
});

test("a copy that cannot be put back leads to the copies of the state folder that was named", async (t) => {
  const empty = join(stateDir, "empty.mdb");
  await writeFile(empty, "");
  t.after(() => rm(empty));
  const { code, stderr } = await state("restore", empty);
  assert.equal(code, 2, stderr);
  assert.match(stderr, new RegExp(`^next: .*--state-dir ${stateDir}$`, "m"));
});

test("copies are listed with their sizes", async () => {
  const { stdout } = await state("check");
  assert.match(stdout, /backups\/store-\S+\.mdb .* [1-9]\S* [KM]iB +whole$/m);
});
