import assert from "node:assert/strict";
import { open, readFile, truncate } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { eventually, thorough } from "@mooring/store/testing";
import { Kubectl } from "../support/kubectl.ts";
import { claim, pod } from "../support/manifests.ts";
import { mooring } from "../support/mooring.ts";
import { nothingRemains } from "../support/remains.ts";
import { Up } from "../support/up.ts";

/** Writes into the file as a disk does that loses bits: in its place, under the process that has it mapped. */
async function damage(file: string, word: string): Promise<void> {
  const bytes = await readFile(file);
  const handle = await open(file, "r+");
  try {
    for (let at = bytes.indexOf(word); at >= 0; at = bytes.indexOf(word, at + 1))
      await handle.write(Buffer.from("g"), 0, 1, at + word.length - 1);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

interface Running {
  up: Up;
  kubectl: Kubectl;
  file: string;
  state(...args: string[]): ReturnType<typeof mooring>;
}

async function running(): Promise<Running> {
  const up = await Up.create({ pool: "directory" });
  await up.start();
  const kubectl = new Kubectl(up.kubeconfig);
  await kubectl.run("create", "configmap", "kept", "--from-literal=word=untouched");
  const state = (...args: string[]) => mooring("state", ...args, "--state-dir", up.stateDir);
  return { up, kubectl, state, file: join(up.stateDir, "store", "store.mdb") };
}

async function copy({ up, state }: Running): Promise<void> {
  const backup = await state("backup", join(up.stateDir, "by-hand.mdb"));
  assert.equal(backup.code, 0, backup.stderr);
}

async function isRestored({ up, kubectl, state }: Running): Promise<void> {
  const restored = await state("restore", join(up.stateDir, "by-hand.mdb"));
  assert.equal(restored.code, 0, restored.stderr);
  await up.start();
  assert.equal(await kubectl.run("get", "configmap/kept", "-o", "jsonpath={.data.word}"), "untouched");
}

test(
  "damage that a read finds while Mooring runs is reported everywhere, with the way out",
  thorough(),
  async (t) => {
    const it = await running();
    const { up, kubectl, file } = it;
    t.after(() => up.dispose());
    assert.equal(await kubectl.run("get", "--raw", "/readyz"), "ok");
    const described = claim("default", "described");
    described.metadata.annotations = { word: "unspoiled" };
    await kubectl.apply(JSON.stringify(described));
    await copy(it);
    await damage(file, "untouched");
    const wayOut = new RegExp(
      `stop Mooring, and put back .*mooring state restore --state-dir ${up.stateDir}`,
    );
    const said = /store\.mdb has been damaged on disk: \S*configmaps\S*kept\S* is not as it was written/;
    const read = await kubectl.run("get", "configmap/kept").catch((error: Error) => error.message);
    assert.match(read, said);
    assert.match(read, wayOut);
    const ready = await kubectl.run("get", "--raw", "/readyz").catch((error: Error) => error.message);
    assert.match(ready, /\[-\]state-file failed/);
    assert.match(ready, said);
    assert.equal(await kubectl.run("get", "--raw", "/livez"), "ok");
    for (const args of [
      ["status", "--kubeconfig", up.kubeconfig],
      ["doctor", "--state-dir", up.stateDir],
    ]) {
      const { code, stdout } = await mooring(...args);
      assert.equal(code, 1, stdout);
      assert.match(stdout, /API server: state-file +fail/);
      assert.match(stdout, said);
      assert.match(stdout, /^next: API server: state-file: .*mooring state restore/m);
    }
    // Of the kinds that it lists.
    await damage(file, "unspoiled");
    const status = await mooring("status", "--kubeconfig", up.kubeconfig);
    assert.equal(status.code, 1, status.stdout);
    assert.match(status.stderr, /^error: API server: state-file: .*configmaps\S*kept/m);
    assert.match(status.stderr, /^next: .*mooring state restore/m);
    assert.equal(await up.end("SIGTERM"), 0);
    await nothingRemains(up.stateDir);
    await isRestored(it);
  },
);

test(
  "a store that is truncated while Mooring runs ends it with what has happened, and pods go on",
  thorough(),
  async (t) => {
    const it = await running();
    const { up, kubectl, file } = it;
    t.after(() => up.dispose());
    await kubectl.apply(JSON.stringify(claim("default", "data", { size: "16Mi" })));
    await kubectl.apply(
      JSON.stringify(
        pod("default", "writer", "exec sleep infinity", {
          mounts: { "/data": "data" },
          restartPolicy: "Always",
        }),
      ),
    );
    await kubectl.run("wait", "--for=condition=Ready", "pod/writer", "--timeout=120s");
    const uid = await kubectl.run("get", "pod/writer", "-o", "jsonpath={.metadata.uid}");
    await copy(it);
    await truncate(file, 20_000);
    await eventually("it to end", () => !up.alive);
    assert.equal(await up.end("SIGTERM"), 2, up.output.slice(-2000));
    assert.match(
      up.output,
      /^error: \S+store\.mdb was truncated to 20000 bytes while it was open; it had \d+$/m,
    );
    assert.match(up.output, /^next: put back the newest copy with `mooring state restore --state-dir/m);
    await isRestored(it);
    await kubectl.run("wait", "--for=condition=Ready", "pod/writer", "--timeout=60s");
    const now = "jsonpath={.metadata.uid} {.status.containerStatuses[0].restartCount}";
    assert.equal(await kubectl.run("get", "pod/writer", "-o", now), `${uid} 0`);
  },
);
