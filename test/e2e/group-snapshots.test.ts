import assert from "node:assert/strict";
import { test } from "node:test";
import { defined } from "@mooring/store";
import { covers, eventually, sample, thorough } from "@mooring/store/testing";
import type { Kubectl } from "../support/kubectl.ts";
import { claim, pod } from "../support/manifests.ts";
import { mooring } from "../support/mooring.ts";
import { world } from "../support/world.ts";

/** Kinds of which a group snapshot must leave nothing. */
const TRACES = [
  "volumegroupsnapshots",
  "volumegroupsnapshotcontents",
  "volumesnapshots",
  "volumesnapshotcontents",
  "groupsnapshots.storage.mooring.dev",
  "snapshots.storage.mooring.dev",
];

const groupSnapshot = (name: string, source: object, version = "v1"): string =>
  JSON.stringify({
    apiVersion: `groupsnapshot.storage.k8s.io/${version}`,
    kind: "VolumeGroupSnapshot",
    metadata: { name },
    spec: { volumeGroupSnapshotClassName: "mooring", source },
  });

const labelled = (name: string, labels: Record<string, string>, className?: string): string => {
  const object = claim("default", name, defined({ className }));
  return JSON.stringify({ ...object, metadata: { ...object.metadata, labels } });
};

/** Counts in the log first and in the data second, each number on disk before the next is written. */
const WRITER = `
i=0
while true; do
  i=$((i + 1))
  echo $i | dd of=/log/n conv=fsync,notrunc status=none
  echo $i | dd of=/data/n conv=fsync,notrunc status=none
  echo $i
done`;

for (const pool of sample(["xfs", "btrfs"] as const, { everyday: 1 })) {
  test(`group snapshots on a pool of type ${pool}`, async (t) => {
    covers("KEP-001", "KEP-038");
    const { up, kubectl, shows, gone } = await world({ pool });
    const field = (target: string[], path: string) => kubectl.run("get", ...target, "-o", `jsonpath=${path}`);
    const finished = async (name: string): Promise<string> => {
      await shows(["pod", name], "{.status.phase}", /Succeeded|Failed/);
      const log = await kubectl.run("logs", name);
      assert.equal(await field(["pod", name], "{.status.phase}"), "Succeeded", log);
      await kubectl.run("delete", "pod", name);
      return log;
    };
    const ready = (name: string) =>
      kubectl.run("wait", "--for=jsonpath={.status.readyToUse}=true", `vgs/${name}`, "--timeout=120s");
    const nothingLeft = async (): Promise<void> => {
      assert.equal((await kubectl.run("get", TRACES.join(), "-A", "-o", "name")).trim(), "");
    };
    const labels = { group: "database" };
    const claims = [labelled("data", labels), labelled("log", labels), labelled("other", {})];
    await kubectl.apply(claims.join("\n---\n"));

    await t.test(
      "two claims under a writer are copied at one moment, and restored to claims of their own",
      async () => {
        await kubectl.apply(
          JSON.stringify(pod("default", "writer", WRITER, { mounts: { "/data": "data", "/log": "log" } })),
        );
        await shows(["pod", "writer"], "{.status.phase}", "Running");
        const acknowledged = await written(kubectl, 5);
        await kubectl.apply(groupSnapshot("monday", { selector: { matchLabels: labels } }));
        await ready("monday");
        await kubectl.run("delete", "pod", "writer");
        const members = await kubectl.run(
          "get",
          "volumesnapshots",
          "-l",
          "volumeGroupSnapshotName=monday",
          "-o",
          'jsonpath={range .items[*]}{.metadata.name} {.spec.source.persistentVolumeClaimName}{"\\n"}{end}',
        );
        const rows = members
          .trim()
          .split("\n")
          .map((line) => line.split(" "));
        assert.deepEqual(rows.map(([, of]) => of).sort(), ["data", "log"]);
        const old = rows.map(([name, of]) => claim("default", `old-${of}`, { snapshot: name ?? "" }));
        const mounts = { "/data": "old-data", "/log": "old-log" };
        const reader = pod("default", "reader", "cat /log/n /data/n", { mounts });
        await kubectl.apply([...old, reader].map((each) => JSON.stringify(each)).join("\n---\n"));
        const [log = 0, data = 0] = (await finished("reader")).trim().split(/\s+/).map(Number);
        assert.ok(data >= acknowledged, `${data} is before ${acknowledged}, which was on disk`);
        assert.ok(log === data || log === data + 1, `log ${log} and data ${data} are of one moment`);
      },
    );

    await t.test("it reads the same in every version, and prints what users expect", async () => {
      const columns = await kubectl.run("get", "vgs", "monday");
      assert.match(
        columns,
        /^NAME +READYTOUSE +VOLUMEGROUPSNAPSHOTCLASS +VOLUMEGROUPSNAPSHOTCONTENT +CREATIONTIME +AGE/,
      );
      const content = await field(["vgs", "monday"], "{.status.boundVolumeGroupSnapshotContentName}");
      for (const version of ["v1", "v1beta2", "v1beta1"]) {
        const kind = `volumegroupsnapshotcontents.${version}.groupsnapshot.storage.k8s.io`;
        const seen = JSON.parse(await kubectl.run("get", kind, content, "-o", "json"));
        assert.equal(seen.apiVersion, `groupsnapshot.storage.k8s.io/${version}`);
        const handles = (list: { snapshotHandle: string }[]) =>
          list.map(({ snapshotHandle }) => snapshotHandle);
        const pairs = handles(seen.status.volumeSnapshotHandlePairList);
        assert.equal(pairs.length, 2);
        assert.deepEqual(pairs, handles(seen.status.volumeSnapshotInfoList));
      }
    });

    await t.test(
      "a member cannot be deleted alone; the group goes as a whole and leaves nothing",
      async () => {
        const [member = ""] = (await kubectl.run("get", "volumesnapshots", "-o", "name")).trim().split("\n");
        await kubectl.run("delete", member, "--wait=false");
        await shows([member], "{.status.error.message}", /cannot be deleted alone/);
        await kubectl.run("delete", "volumegroupsnapshot", "monday");
        await nothingLeft();
        await kubectl.run("delete", "pvc", "old-data", "old-log");
      },
    );

    await t.test("policy Retain keeps the data, and a content brings it back with all members", async () => {
      await kubectl.apply(`
apiVersion: groupsnapshot.storage.k8s.io/v1
kind: VolumeGroupSnapshotClass
metadata: {name: keep}
driver: csi.mooring.dev
deletionPolicy: Retain`);
      await kubectl.apply(
        groupSnapshot("kept", { selector: { matchLabels: labels } }, "v1beta1").replace(
          '"mooring"',
          '"keep"',
        ),
      );
      await ready("kept");
      const content = await field(["vgs", "kept"], "{.status.boundVolumeGroupSnapshotContentName}");
      const list = "{.status.volumeGroupSnapshotHandle} {.status.volumeSnapshotInfoList[*].snapshotHandle}";
      const [handle, ...members] = (await field(["vgsc", content], list)).split(" ");
      await kubectl.run("delete", "vgs", "kept");
      await kubectl.run("delete", "vgsc", content);
      await kubectl.run("delete", "volumesnapshotcontents", "--all");
      assert.equal(
        (await kubectl.run("get", "groupsnapshots.storage.mooring.dev", "-o", "name")).trim().split("\n")
          .length,
        1,
      );
      await kubectl.apply(groupSnapshot("back", { volumeGroupSnapshotContentName: "brought" }));
      await shows(["vgs", "back"], "{.status.error.message}", /brought is missing/);
      await kubectl.apply(
        JSON.stringify({
          apiVersion: "groupsnapshot.storage.k8s.io/v1",
          kind: "VolumeGroupSnapshotContent",
          metadata: { name: "brought" },
          spec: {
            deletionPolicy: "Delete",
            driver: "csi.mooring.dev",
            source: {
              groupSnapshotHandles: {
                volumeGroupSnapshotHandle: handle,
                volumeSnapshotHandles: members,
              },
            },
            volumeGroupSnapshotRef: { name: "back", namespace: "default" },
          },
        }),
      );
      await ready("back");
      assert.equal((await kubectl.run("get", "volumesnapshots", "-o", "name")).trim().split("\n").length, 2);
      await kubectl.run("delete", "vgs", "back");
      await nothingLeft();
    });

    await t.test(
      "what cannot be a group reports why, on the object and to `mooring why`",
      thorough(),
      async () => {
        await kubectl.apply(groupSnapshot("nobody", { selector: { matchLabels: { group: "nobody" } } }));
        await shows(["vgs", "nobody"], "{.status.error.message}", /no claim of the namespace matches/);
        await kubectl.apply(labelled("late", { group: "late" }, "none"));
        await kubectl.apply(groupSnapshot("early", { selector: { matchLabels: { group: "late" } } }));
        await shows(["vgs", "early"], "{.status.error.message}", /claim late is not bound/);
        const why = await mooring("why", "vgs/early", "--kubeconfig", up.kubeconfig);
        assert.match(why.stdout, /PersistentVolumeClaim default\/late: StorageClass none does not exist/);
        await kubectl.run("delete", "vgs", "nobody", "early");
        await kubectl.run("delete", "pvc", "late");
        await gone("pvc", "late");
      },
    );

    await t.test(
      "killed while a group snapshot is made, and started again: it gets ready, and goes",
      thorough(),
      async () => {
        await kubectl.apply(groupSnapshot("crash", { selector: { matchLabels: labels } }));
        await up.end("SIGKILL");
        await up.start();
        await ready("crash");
        await kubectl.run("delete", "vgs", "crash");
        await nothingLeft();
      },
    );

    await kubectl.run("delete", "pvc", "--all");
  });
}

/** Waits until the writer has put so many numbers on both volumes; returns the last one that it has. */
function written(kubectl: Kubectl, count: number): Promise<number> {
  return eventually(`the writer to have written ${count} numbers`, async () => {
    const last = Number((await kubectl.run("logs", "writer")).trim().split("\n").at(-1));
    return last >= count && last;
  });
}
