import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { Volumes } from "@mooring/engine";
import { listAll, mutate } from "@mooring/store";
import { eventually, sample } from "@mooring/store/testing";
import { Kubectl } from "../support/kubectl.ts";
import { claim, pod, snapshot } from "../support/manifests.ts";
import { mooring } from "../support/mooring.ts";
import { Up } from "../support/up.ts";

for (const pool of sample(["xfs", "btrfs"] as const, { everyday: 1 }))
  test(`${pool}: what was written after a volume went back stays, when a copy of the state is put back that still waits for that`, async (t) => {
    const up = await Up.create({ pool });
    t.after(() => up.disposeWhole());
    await up.start();
    const kubectl = new Kubectl(up.kubeconfig);
    const user = () =>
      kubectl.apply(
        JSON.stringify(pod("default", "web", "exec sleep infinity", { mounts: { "/data": "data" } })),
      );
    const ready = () => kubectl.run("wait", "--for=condition=Ready", "pod/web", "--timeout=120s");
    const write = (word: string) =>
      kubectl.run("exec", "web", "--", "sh", "-c", `echo ${word} > /data/word; sync /data/word`);
    const read = () => kubectl.run("exec", "web", "--", "cat", "/data/word");
    await kubectl.apply(JSON.stringify(claim("default", "data")));
    await user();
    await ready();
    await write("first");
    await kubectl.apply(JSON.stringify(snapshot("default", "first", "data")));
    await kubectl.run(
      "wait",
      "volumesnapshot/first",
      "--for=jsonpath={.status.readyToUse}=true",
      "--timeout=60s",
    );
    await write("second");
    const store = await up.store();
    const [volume] = (await listAll(store, Volumes)).items;
    assert.ok(volume !== undefined);
    const { name } = volume.metadata;
    const [of] = (await kubectl.run("get", "snapshots.storage.mooring.dev", "-o", "name")).trim().split("\n");
    const from = of?.split("/")[1] ?? "";
    await mutate(store, Volumes, { name }, (v) => {
      v.spec.restoreFrom = { snapshot: from };
    });
    const copy = join(up.stateDir, "then.mdb");
    assert.equal((await mooring("state", "backup", copy, "--state-dir", up.stateDir)).code, 0);

    const restored = async (where: Awaited<ReturnType<Up["store"]>>) =>
      eventually("it to be restored", async () => {
        const { status } = await where.get(Volumes, { name });
        return status?.restore?.state === "Restored" || undefined;
      });
    await kubectl.run("delete", "pod/web");
    await restored(store);
    await user();
    await ready();
    assert.equal(await read(), "first\n");
    await write("since");
    await kubectl.run("delete", "pod/web");
    assert.equal(await up.end("SIGTERM"), 0);

    assert.equal((await mooring("state", "restore", copy, "--state-dir", up.stateDir)).code, 0);
    await up.start();
    await ready();
    assert.equal(await read(), "since\n");
    await kubectl.run("delete", "pod/web");
    await restored(await up.store());
    await user();
    await ready();
    assert.equal(await read(), "since\n");

    await mutate(await up.store(), Volumes, { name }, (v) => {
      v.spec.restoreFrom = { snapshot: from, request: "again" };
    });
    await kubectl.run("delete", "pod/web");
    await eventually("it to be restored again", async () => {
      const { status } = await (await up.store()).get(Volumes, { name });
      return (status?.restore?.state === "Restored" && status.restore.request === "again") || undefined;
    });
    await user();
    await ready();
    assert.equal(await read(), "first\n");
    await kubectl.run("delete", "pod/web", "volumesnapshot/first", "pvc/data");
  });
