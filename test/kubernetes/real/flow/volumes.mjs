// One volume with a file system and one raw: written by pods, grown while they write, copied and restored.
import assert from "node:assert/strict";
import { until } from "../support/program.mjs";
import {
  attributesClass,
  COUNT_ON,
  claim,
  fromClaim,
  fromSnapshot,
  MIB,
  pod,
  rawClaim,
  snapshot,
} from "./objects.mjs";

const PROVISIONER = "{.metadata.annotations.volume\\.beta\\.kubernetes\\.io/storage-provisioner}";

export async function writeAndRead(kube) {
  await kube.apply(attributesClass("read-ahead", { readAheadKiB: "512" }));
  await kube.apply(
    claim("data", "400Mi", { volumeAttributesClassName: "read-ahead" }),
    rawClaim("raw", "64Mi"),
  );
  await kube.apply(
    pod("writer", { mounts: { "/data": "data" }, run: COUNT_ON }),
    pod("raw-writer", { devices: { "/dev/raw": "raw" } }),
  );
  await kube.ready("writer", "raw-writer");
  await kube.shows("pvc/data", "{.status.currentVolumeAttributesClassName}", "read-ahead");
  // The mark of Kubernetes' controller, by which ours has begun.
  assert.equal(await kube.get("pvc/data", PROVISIONER), "csi.mooring.dev");
  // Not root, and may write because the volume has been given to its fsGroup.
  assert.equal(await kube.sh("writer", "id -u; stat -c %g /data"), "1000\n2000");
  await kube.sh(
    "writer",
    "dd if=/dev/urandom of=/data/file bs=1M count=20 2>&1; cd /data; md5sum file >sum; sync",
  );
  await kube.sh("raw-writer", "dd if=/dev/urandom of=/dev/raw bs=1M count=16 conv=fsync 2>&1");
  assert.equal(await kube.sh("writer", "cd /data && md5sum -c sum"), "file: OK");
}

/** To another class while a pod writes: the node that has the volume open takes it up. */
export async function changeAttributes(kube) {
  await kube.apply(attributesClass("read-further-ahead", { readAheadKiB: "1024" }));
  assert.equal(await readAhead(kube), "512");
  const body = JSON.stringify({ spec: { volumeAttributesClassName: "read-further-ahead" } });
  await kube.kubectl("patch", "pvc", "data", "-p", body);
  await kube.shows("pvc/data", "{.status.currentVolumeAttributesClassName}", "read-further-ahead");
  await until("the device to read further ahead", async () => (await readAhead(kube)) === "1024");
}

/** KiB, as the kernel has it of the device that is mounted. */
function readAhead(kube) {
  const device = `$(awk '$2 == "/data" { print substr($1, 6) }' /proc/mounts)`;
  return kube.sh("writer", `cat /sys/block/${device}/queue/read_ahead_kb`);
}

/** What the kubelet reports of volumes: asked of the driver, of raw ones by a path of the kubelet's own. */
export async function statistics(kube) {
  const wanted = [
    /kubelet_volume_stats_capacity_bytes\{[^}]*persistentvolumeclaim="data"/,
    /kubelet_volume_stats_capacity_bytes\{[^}]*persistentvolumeclaim="raw"\} 6.7108864e\+07/,
  ];
  const node = await kube.get("pod/writer", "{.spec.nodeName}");
  await until("statistics of both volumes", async () => {
    const output = await kube.kubectl("get", "--raw", `/api/v1/nodes/${node}/proxy/metrics`);
    return wanted.every((each) => each.test(output));
  });
}

export async function growOnline(kube) {
  for (const [name, size] of [
    ["data", "600Mi"],
    ["raw", "96Mi"],
  ]) {
    const body = JSON.stringify({ spec: { resources: { requests: { storage: size } } } });
    await kube.kubectl("patch", "pvc", name, "-p", body);
    await kube.shows(`pvc/${name}`, "{.status.capacity.storage}", size);
  }
  const kilobytes = Number(await kube.sh("writer", "df -k /data | tail -n 1 | awk '{print $2}'"));
  assert.ok(kilobytes > 450 * 1024, `the file system has ${kilobytes} KiB`);
  const bytes = await kube.sh("raw-writer", "blockdev --getsize64 /dev/raw");
  assert.equal(Number(bytes), 96 * MIB);
}

/** Of the raw claim, made and opened at once. */
const RAW_CLONES = [1, 2, 3, 4, 5].map((number) => `raw-clone-${number}`);

/** From a snapshot and from the claim itself, each of both kinds, while the sources are written. */
export async function copies(kube) {
  const rawSum = (name) => kube.sh(name, "dd if=/dev/raw bs=1M count=16 2>/dev/null | md5sum");
  await kube.apply(snapshot("data-then", "data"), snapshot("raw-then", "raw"));
  for (const name of ["data-then", "raw-then"])
    await kube.shows(`volumesnapshot/${name}`, "{.status.readyToUse}", "true");
  await kube.apply(
    claim("data-restored", "600Mi", fromSnapshot("data-then")),
    rawClaim("raw-restored", "96Mi", fromSnapshot("raw-then")),
    claim("data-clone", "600Mi", fromClaim("data")),
    ...RAW_CLONES.map((name) => rawClaim(name, "96Mi", fromClaim("raw"))),
  );
  const files = ["data-restored", "data-clone"];
  const devices = ["raw-restored", ...RAW_CLONES];
  const made = [
    ...files.map((name) => pod(name, { mounts: { "/data": name } })),
    ...devices.map((name) => pod(name, { devices: { "/dev/raw": name } })),
  ];
  await kube.apply(...made);
  const names = made.map(({ metadata }) => metadata.name);
  await kube.ready(...names);
  const wanted = await rawSum("raw-writer");
  for (const name of files) assert.equal(await kube.sh(name, "cd /data && md5sum -c sum"), "file: OK");
  for (const name of devices) assert.equal(await rawSum(name), wanted);
  await kube.delete(...names.map((name) => `pod/${name}`), ...names.map((name) => `pvc/${name}`));
  await kube.delete("volumesnapshot/data-then", "volumesnapshot/raw-then");
}
