import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { eventually, thorough } from "@mooring/store/testing";
import { Kubectl } from "../support/kubectl.ts";
import { claim, pod } from "../support/manifests.ts";
import { mooring } from "../support/mooring.ts";
import { nothingRemains } from "../support/remains.ts";
import { SmallDisk } from "../support/small-disk.ts";
import { Up } from "../support/up.ts";

const SAID = /the disk of \S+ cannot be written to \(its file system is read-only\), so nothing is stored/;

/** What an operator reads, wherever that is. */
async function isReported({ stateDir, kubeconfig }: Up, kubectl: Kubectl): Promise<void> {
  const ready = await kubectl.run("get", "--raw", "/readyz").catch((error: Error) => error.message);
  assert.match(ready, /\[-\]state-disk-writes failed/);
  assert.match(ready, SAID);
  assert.equal(await kubectl.run("get", "--raw", "/livez"), "ok");
  const server = ["--kubeconfig", kubeconfig];
  for (const args of [
    ["status", ...server],
    ["why", "pod/app", ...server],
    ["doctor", "--state-dir", stateDir],
  ]) {
    const { code, stdout } = await mooring(...args);
    assert.equal(code, 1, stdout);
    assert.match(stdout, SAID, args[0]);
    assert.match(stdout, /^next: .*kernel's log.*fsck/m, args[0]);
  }
}

test(
  "a state disk that has failed and takes no write is named, a stop releases everything, and after fsck all goes on",
  thorough(),
  async (t) => {
    const disk = await SmallDisk.create(1200);
    const stateDir = join(disk.folder, "state");
    await mkdir(stateDir);
    const up = await Up.create({ stateDir, pool: "xfs", poolSize: "600Mi" });
    t.after(async () => {
      await up.dispose();
      await disk.dispose();
    });
    await up.start();
    const kubectl = new Kubectl(up.kubeconfig);
    await kubectl.apply(JSON.stringify(claim("default", "data", { size: "32Mi" })));
    const app = pod("default", "app", "exec sleep infinity", {
      mounts: { "/data": "data" },
      restartPolicy: "Always",
    });
    await kubectl.apply(JSON.stringify(app));
    await kubectl.run("wait", "--for=condition=Ready", "pod/app", "--timeout=120s");
    await kubectl.run("exec", "app", "--", "sh", "-c", "echo kept >/data/word; sync");

    await disk.fail();
    const refused = await kubectl.feed(
      JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "refused" } }),
      "create",
    );
    assert.match(refused.stderr, SAID);
    await isReported(up, kubectl);

    assert.equal(await up.end("SIGTERM"), 0);
    assert.match(up.output, /^warning: stopped, but the disk of \S+ is read-only/m);
    assert.doesNotMatch(up.output, /mdb_|lmdb/, "LMDB has met no write that fails");
    await nothingRemains(stateDir);

    await disk.repair();
    await up.start();
    await kubectl.run("wait", "--for=condition=Ready", "pod/app", "--timeout=120s");
    assert.equal(await kubectl.run("exec", "app", "--", "cat", "/data/word"), "kept\n");
    await eventually("all to be well", async () => {
      const { stdout } = await mooring("status", "--kubeconfig", up.kubeconfig);
      return /^all is well$/m.test(stdout);
    });
    await kubectl.run("delete", "pod/app", "pvc/data", "--timeout=60s");
  },
);
