import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { cp, mkdir, readdir, rename, truncate } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { thorough } from "@mooring/store/testing";
import { hasStarted, startCountingPod } from "../support/counting-pod.ts";
import { Kubectl } from "../support/kubectl.ts";
import { mooring } from "../support/mooring.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { Up, type UpOptions } from "../support/up.ts";

type Kind = Pick<UpOptions, "pool" | "poolSize">;

const XFS: Kind = { poolSize: "1Gi" };
const KINDS: readonly Kind[] = [{ pool: "btrfs", poolSize: "1Gi" }, { pool: "directory" }];

/** With a claim that a pod has written to. */
async function written(t: TestContext, kind: Kind = XFS): Promise<Up> {
  const up = await Up.create(kind);
  t.after(() => up.discard());
  await up.start();
  const kubectl = new Kubectl(up.kubeconfig);
  await startCountingPod(kubectl);
  return up;
}

async function stopped(t: TestContext, kind?: Kind): Promise<Up> {
  const up = await written(t, kind);
  assert.equal(await up.end("SIGTERM"), 0);
  return up;
}

/** It goes on where it is now; the pod has written once more. */
async function goesOn(t: TestContext, stateDir: string, kind: Kind = XFS): Promise<void> {
  const up = await Up.create({ stateDir, ...kind });
  t.after(() => up.discard());
  await up.start();
  const kubectl = new Kubectl(up.kubeconfig);
  await hasStarted(kubectl, 2);
  assert.equal(
    await kubectl.run("get", "pool", "default", "-o", "jsonpath={.spec.path}"),
    join(stateDir, "pools", "default"),
  );
  assert.equal(await up.end("SIGTERM"), 0);
}

test("a state folder that was moved goes on with its volumes, and nothing is made where it was", async (t) => {
  const before = await stopped(t);
  const stateDir = `${before.stateDir}.moved`;
  await rename(before.stateDir, stateDir);
  await goesOn(t, stateDir);
  assert.equal(existsSync(before.stateDir), false);
});

for (const kind of KINDS)
  test(`one that has a pool of kind ${kind.pool} goes on as well`, thorough(), async (t) => {
    const before = await stopped(t, kind);
    const stateDir = `${before.stateDir}.moved`;
    await rename(before.stateDir, stateDir);
    await goesOn(t, stateDir, kind);
    assert.equal(existsSync(before.stateDir), false);
  });

test("one that is moved under its pods after a kill is refused, and goes on where it was", async (t) => {
  const before = await written(t);
  const { stateDir } = before;
  await before.end("SIGKILL");
  await rename(stateDir, `${stateDir}.moved`);
  t.after(() => rename(`${stateDir}.moved`, stateDir).catch(() => {}));
  const where = ["--state-dir", `${stateDir}.moved`, "--listen", "127.0.0.1:0", "--node-name", "node-a"];
  const { code, stderr } = await mooring("up", ...where);
  assert.equal(code, 2, stderr);
  assert.match(stderr, new RegExp(`^error: pods of .* were started when it was ${stateDir}, `));
  assert.match(stderr, new RegExp(`^next: move it back to ${stateDir}, `, "m"));
  await rename(`${stateDir}.moved`, stateDir);
  await before.start();
  const kubectl = new Kubectl(before.kubeconfig);
  await hasStarted(kubectl, 1);
  assert.equal(await before.end("SIGTERM"), 0);
  await rename(stateDir, `${stateDir}.moved`);
  await goesOn(t, `${stateDir}.moved`);
});

test("a copy of a state folder has a pool of its own, and without one does not start on that of the original", async (t) => {
  const before = await stopped(t);
  const stateDir = `${before.stateDir}.copy`;
  t.after(() => removeFolder(stateDir));
  await cp(before.stateDir, stateDir, {
    recursive: true,
    filter: (path) => path !== join(before.stateDir, "pools"),
  });
  const refused = await mooring(
    "up",
    "--state-dir",
    stateDir,
    "--listen",
    "127.0.0.1:0",
    "--node-name",
    "node-a",
  );
  assert.notEqual(refused.code, 0);
  assert.match(
    refused.stderr,
    new RegExp(`pool default is at ${before.stateDir}/pools/default, .*${stateDir}\\b`),
  );
  assert.match(refused.stderr, new RegExp(`^next: start with --state-dir ${before.stateDir}, or put`, "m"));
  await rename(join(before.stateDir, "pools"), join(stateDir, "pools"));
  await mkdir(join(before.stateDir, "pools", "default"), { recursive: true });
  const image = join(before.stateDir, "pools", "default", "pool.img");
  // The original's, which is there: it must not be opened.
  await cp(join(stateDir, "node-name"), image);
  await truncate(image, 4096);
  await goesOn(t, stateDir);
  assert.deepEqual(await readdir(join(before.stateDir, "pools", "default")), ["pool.img"]);
});

test("a pool whose folder has gone while volumes are in it is not made anew, until all are given up", async (t) => {
  const up = await stopped(t);
  await rename(join(up.stateDir, "pools"), join(up.stateDir, "pools.elsewhere"));
  await mkdir(join(up.stateDir, "pools"));
  await up.start();
  assert.deepEqual(await readdir(join(up.stateDir, "pools")), []);
  assert.match(up.output, /mooring is up, without pool default/);
  assert.match(
    up.output,
    /pool default has 1 volume and 0 snapshots, and there is no pool in \S+pools\/default:/,
  );
  const kubectl = new Kubectl(up.kubeconfig);
  await kubectl.run("delete", "pod/web", "--wait=false");
  await kubectl.run("delete", "pvc/data", "--wait=false");
  const names = await kubectl.run("get", "volumes.storage.mooring.dev", "-o", "name");
  assert.match(
    up.output,
    new RegExp(`kubectl delete --wait=false ${names.trim().replace(/^volume\./, "volumes.")}`),
  );
  await kubectl.run("delete", "--wait=false", ...names.trim().split("\n"));
  await kubectl.run("wait", "pool/default", "--for=jsonpath={.status.ready}=true", "--timeout=90s");
  await kubectl.run("wait", "pvc/data", "--for=delete", "--timeout=60s");
  assert.ok(existsSync(join(up.stateDir, "pools", "default", "pool.img")));
});
