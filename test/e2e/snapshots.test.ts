import assert from "node:assert/strict";
import { test } from "node:test";
import { defined } from "@mooring/store";
import { sample, thorough } from "@mooring/store/testing";
import { world } from "../support/world.ts";

for (const pool of sample(["xfs", "btrfs"] as const, { everyday: 1 })) {
  test(`snapshots on a pool of type ${pool}`, async (t) => {
    const { kubectl, shows, gone } = await world({ pool });

    const run = async (name: string, script: string, mounts: Record<string, string>): Promise<string> => {
      const entries = Object.entries(mounts);
      await kubectl.apply(
        JSON.stringify({
          apiVersion: "v1",
          kind: "Pod",
          metadata: { name },
          spec: {
            restartPolicy: "Never",
            containers: [
              {
                name: "main",
                image: "host",
                command: ["sh", "-euc", script],
                volumeMounts: entries.map(([mountPath, claim]) => ({ name: claim, mountPath })),
              },
            ],
            volumes: entries.map(([, claim]) => ({
              name: claim,
              persistentVolumeClaim: { claimName: claim },
            })),
          },
        }),
      );
      await shows(["pod", name], "{.status.phase}", /Succeeded|Failed/);
      const log = await kubectl.run("logs", name);
      assert.equal(await kubectl.run("get", "pod", name, "-o", "jsonpath={.status.phase}"), "Succeeded", log);
      await kubectl.run("delete", "pod", name);
      return log;
    };

    const claim = (name: string, size: string, source?: object): Promise<void> =>
      kubectl.apply(
        JSON.stringify({
          apiVersion: "v1",
          kind: "PersistentVolumeClaim",
          metadata: { name },
          spec: {
            accessModes: ["ReadWriteOnce"],
            resources: { requests: { storage: size } },
            ...defined({ dataSource: source }),
          },
        }),
      );

    const fromSnapshot = (name: string): object => ({
      apiGroup: "snapshot.storage.k8s.io",
      kind: "VolumeSnapshot",
      name,
    });

    await t.test("restore has what was there at the snapshot, and grows the file system", async () => {
      await claim("live", "64Mi");
      await run("before", "echo before > /d/a; sync", { "/d": "live" });
      await kubectl.apply(`
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata: {name: point}
spec: {volumeSnapshotClassName: mooring, source: {persistentVolumeClaimName: live}}`);
      await shows(["volumesnapshot", "point"], "{.status.readyToUse}", "true");
      await run("after", "echo after > /d/a; sync", { "/d": "live" });
      await claim("restored", "256Mi", fromSnapshot("point"));
      const log = await run("read", "cat /d/a; df --output=size -B1M /d | tail -n1", { "/d": "restored" });
      const [content, size] = log.trim().split(/\s+/);
      assert.equal(content, "before");
      assert.ok(Number(size) > 200, `${size} MiB`);
    });

    await t.test("a clone of a claim has its content and goes its own way", async () => {
      await claim("clone", "64Mi", { kind: "PersistentVolumeClaim", name: "live" });
      assert.equal(
        (
          await run("read-clone", "cat /c/a; echo clone > /c/a; cat /l/a", { "/c": "clone", "/l": "live" })
        ).trim(),
        "after\nafter",
      );
    });

    await t.test("a snapshot outlives its claim; Delete removes the data with the object", async () => {
      await kubectl.run("delete", "pvc", "live", "clone", "restored");
      const content = await kubectl.run(
        "get",
        "volumesnapshot",
        "point",
        "-o",
        "jsonpath={.status.boundVolumeSnapshotContentName}",
      );
      await claim("again", "64Mi", fromSnapshot("point"));
      assert.equal((await run("read-again", "cat /d/a", { "/d": "again" })).trim(), "before");
      await kubectl.run("delete", "volumesnapshot", "point");
      await gone("volumesnapshotcontent", content);
      await kubectl.run("delete", "pvc", "again");
    });

    await t.test("Retain keeps the data; a pre-provisioned content brings it back", thorough(), async () => {
      await claim("origin", "64Mi");
      await run("write", "echo kept > /d/a; sync", { "/d": "origin" });
      await kubectl.apply(`
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshotClass
metadata: {name: keep}
driver: csi.mooring.dev
deletionPolicy: Retain
---
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata: {name: kept}
spec: {volumeSnapshotClassName: keep, source: {persistentVolumeClaimName: origin}}`);
      await shows(["volumesnapshot", "kept"], "{.status.readyToUse}", "true");
      const content = await kubectl.run(
        "get",
        "volumesnapshot",
        "kept",
        "-o",
        "jsonpath={.status.boundVolumeSnapshotContentName}",
      );
      const handle = await kubectl.run(
        "get",
        "volumesnapshotcontent",
        content,
        "-o",
        "jsonpath={.status.snapshotHandle}",
      );
      await kubectl.run("delete", "volumesnapshot", "kept");
      await kubectl.run("delete", "volumesnapshotcontent", content);
      await kubectl.apply(`
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshotContent
metadata: {name: imported}
spec:
  deletionPolicy: Delete
  driver: csi.mooring.dev
  source: {snapshotHandle: ${handle}}
  volumeSnapshotRef: {name: imported, namespace: default}
---
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata: {name: imported}
spec: {source: {volumeSnapshotContentName: imported}}`);
      await shows(["volumesnapshot", "imported"], "{.status.readyToUse}", "true");
      await claim("from-import", "64Mi", fromSnapshot("imported"));
      assert.equal((await run("read-import", "cat /d/a", { "/d": "from-import" })).trim(), "kept");
      await kubectl.run("delete", "pvc", "from-import", "origin");
      await kubectl.run("delete", "volumesnapshot", "imported");
      await gone("volumesnapshotcontent", "imported");
    });

    await t.test("a snapshot of a claim that is not there is reported", thorough(), async () => {
      await kubectl.apply(`
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata: {name: of-nothing}
spec: {volumeSnapshotClassName: mooring, source: {persistentVolumeClaimName: nothing}}`);
      await shows(["volumesnapshot", "of-nothing"], "{.status.error.message}", /nothing/);
      await kubectl.run("delete", "volumesnapshot", "of-nothing");
    });
  });
}
