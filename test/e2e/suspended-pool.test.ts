import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { eventually, thorough } from "@mooring/store/testing";
import { claim, pod, snapshot } from "../support/manifests.ts";
import { mooring } from "../support/mooring.ts";
import { world } from "../support/world.ts";

const NAMESPACE = "default";
const POOL = ["pool", "default"];
const HELD = '{.status.conditions[?(@.type=="WritersHeld")].status}';
/** More than the pool has, and less than it has once it has grown. */
const MIB = 560;

/** Writes blocks that are all different, each on disk before its number is in `/acks/acks`; what fails is in `/acks/failed`. */
const WRITER = `
exec perl -MIO::Handle -e '
  sub failed { open(my $f, ">", "/acks/failed"); print $f "@_"; close $f; exit 1 }
  open(my $data, ">", "/data/blocks") or failed("open: $!");
  for my $n (1 .. ${MIB}) {
    my $block = pack("N", $n) x 262144;
    my $wrote = syswrite($data, $block);
    failed("write $n: $!") if ($wrote // 0) != length $block;
    $data->sync or failed("sync $n: $!");
    open(my $acks, ">", "/acks/acks.new"); print $acks $n; close $acks;
    rename("/acks/acks.new", "/acks/acks");
  }
  sleep 1000 while 1'`;

/** Prints how many of the blocks are as they were written. */
const READER = `
exec perl -e '
  open(my $data, "<", "/data/blocks") or die;
  my ($n, $block) = (0);
  while ((read($data, $block, 1048576) // 0) == 1048576) { last if $block ne pack("N", $n + 1) x 262144; $n++ }
  print $n'`;

async function acksFolder(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), "suspended-"));
  t.after(() => rm(folder, { recursive: true }));
  const text = (name: string) => readFile(join(folder, name), "utf8").catch(() => "");
  return {
    folder,
    acknowledged: async () => Number(await text("acks")),
    failed: () => text("failed"),
  };
}

for (const pool of ["xfs", "btrfs"] as const)
  test(
    `a ${pool} pool that stays full while Mooring is killed and its user deletes things`,
    thorough(),
    async (t) => {
      const { up, kubectl, shows, gone } = await world({
        pool,
        poolSize: "512Mi",
        args: ["--pool-overcommit", "10"],
      });
      const { folder, acknowledged, failed } = await acksFolder(t);
      const apply = (object: object) => kubectl.apply(JSON.stringify(object));
      const why = async (target: string) => {
        const { stdout } = await mooring("why", target, "--kubeconfig", up.kubeconfig);
        return stdout;
      };
      await kubectl.run("patch", ...POOL, "--type=merge", "-p", '{"spec":{"holdWriters":true}}');
      await apply(claim(NAMESPACE, "data", { size: "1Gi" }));
      await apply(claim(NAMESPACE, "other", { size: "64Mi" }));
      await shows(["pvc", "other"], "{.status.phase}", "Bound");
      const writer = pod(NAMESPACE, "writer", WRITER, { mounts: { "/data": "data" } });
      const { spec } = writer;
      spec?.containers[0]?.volumeMounts?.push({ name: "acks", mountPath: "/acks" });
      spec?.volumes?.push({ name: "acks", hostPath: { path: folder, type: "Directory" } });
      await apply(writer);
      await shows(POOL, HELD, "True");

      await apply(snapshot(NAMESPACE, "monday", "data"));
      await apply(claim(NAMESPACE, "late"));
      await shows(["volumesnapshot", "monday"], "{.status.error.message}", /suspended/);
      const before = await acknowledged();
      assert.ok(before > 100 && before < MIB, `${before} MiB were written`);

      for (const signal of ["SIGKILL", "SIGKILL"] as const) {
        await up.end(signal);
        await up.start();
        await shows(POOL, HELD, "True");
      }
      assert.equal(await failed(), "");
      // One request of each loop device goes through for work that makes room.
      assert.ok((await acknowledged()) < before + 16);
      assert.match(await why("pvc/late"), /full[\s\S]*next: /);
      await kubectl.run("delete", "pvc", "other", "--wait=false");
      await gone("pvc", "other");
      await kubectl.run("delete", "pod", "writer", "--wait=false");
      await shows(["pod", "writer"], "{.metadata.deletionTimestamp}", /./);
      // Beside the removal its last write may have got through: then it ends, and waits for nothing.
      const hasEnded = async () => (await kubectl.run("get", "pod", "writer", "--ignore-not-found")) === "";
      await eventually(
        "why to name what the pod waits for",
        async () => (await hasEnded()) || /Pool default: /.test(await why("pod/writer")),
      );
      assert.equal(await failed(), "");

      await kubectl.run("patch", ...POOL, "--type=merge", "-p", '{"spec":{"size":1073741824}}');
      await gone("pod", "writer");
      assert.equal(await failed(), "");
      await shows(POOL, HELD, "False");
      await shows(["volumesnapshot", "monday"], "{.status.readyToUse}", "true");
      await shows(["pvc", "late"], "{.status.phase}", "Bound");
      const least = await acknowledged();
      await apply(pod(NAMESPACE, "reader", READER, { mounts: { "/data": "data" } }));
      await shows(["pod", "reader"], "{.status.phase}", "Succeeded");
      const whole = Number(await kubectl.run("logs", "reader"));
      assert.ok(whole >= least, `${least} MiB were acknowledged, ${whole} are there`);

      await kubectl.run("delete", "pod/reader", "volumesnapshot/monday", "pvc/data", "pvc/late");
    },
  );
