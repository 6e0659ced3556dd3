import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { cp, mkdir, readdir, rename, truncate } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Kubectl } from "../support/kubectl.ts";
import { claim, pod } from "../support/manifests.ts";
import { mooring } from "../support/mooring.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { Up } from "../support/up.ts";

/** Stopped, with a claim that a pod has written to. */
async function stopped(t: TestContext): Promise<Up> {
  const up = await Up.create({ poolSize: "1Gi" });
  t.after(() => up.discard());
  await up.start();
  const kubectl = new Kubectl(up.kubeconfig);
  await kubectl.apply(JSON.stringify(claim("default", "data")));
  const web = pod("default", "web", "echo kept >> /data/word; exec sleep infinity", {
    mounts: { "/data": "data" },
  });
  await kubectl.apply(JSON.stringify({ ...web, spec: { ...web.spec, restartPolicy: "Always" } }));
  await kubectl.run("wait", "--for=condition=Ready", "pod/web", "--timeout=120s");
  assert.equal(await up.end("SIGTERM"), 0);
  return up;
}

/** It goes on where it is now; the pod has written once more. */
async function goesOn(t: TestContext, stateDir: string): Promise<void> {
  const up = await Up.create({ stateDir, poolSize: "1Gi" });
  t.after(() => up.discard());
  await up.start();
  const kubectl = new Kubectl(up.kubeconfig);
  await kubectl.run("wait", "--for=condition=Ready", "pod/web", "--timeout=60s");
  assert.equal(await kubectl.run("exec", "web", "--", "cat", "/data/word"), "kept\nkept\n");
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
