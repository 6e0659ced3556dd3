import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { VOLUMES_MOUNTED } from "@mooring/engine";
import { Events, type Pod } from "@mooring/store";
import { eventually as until } from "@mooring/store/testing";
import {
  claim,
  eventually,
  PersistentVolumeClaims,
  Pods,
  phase,
  podWithClaim,
} from "../testing/test-cluster.ts";
import { volumeCluster } from "../testing/volume-cluster.ts";

const execute = promisify(execFile);
const { cluster, folder, remove } = await volumeCluster();
const mounted = (pod: Pod | undefined) =>
  pod?.status?.conditions?.find(({ type }) => type === VOLUMES_MOUNTED);
const main = (pod: Pod | undefined) => pod?.status?.containerStatuses?.[0];

test("a volume that somebody unmounts under a pod is a condition of the pod, and no container starts on the folder below it", async () => {
  const { store } = cluster;
  await store.create(PersistentVolumeClaims, claim("lost"));
  const script = "echo started >> /data/starts; while [ ! -e /data/end ]; do sleep 0.05; done";
  await store.create(Pods, podWithClaim("lost", "lost", script, { restartPolicy: "Always" }));
  const running = await eventually(store, Pods, "lost", phase("Running"));
  assert.equal(mounted(running), undefined);
  const volumes = join(folder, "kubelet/pods", running?.metadata.uid ?? "", "volumes/kubernetes.io~csi");
  const [name = ""] = await readdir(volumes);
  const target = join(volumes, name, "mount");
  const source = join(folder, "driver/volumes");
  await execute("umount", ["-l", target]);
  const lost = await eventually(store, Pods, "lost", (pod) => mounted(pod)?.status === "False");
  const text = `claim lost is not mounted at ${target}: it was unmounted while the pod runs, and not by the kubelet`;
  assert.equal(mounted(lost)?.message, text);
  await until("its event", async () =>
    (await store.list(Events)).items.some(
      ({ reason, message }) => reason === "VolumeUnmounted" && message === text,
    ),
  );

  // The container has the volume still; the next one would not.
  const [volume = ""] = await readdir(source);
  await execute("touch", [join(source, volume, "end")]);
  await eventually(
    store,
    Pods,
    "lost",
    (pod) => main(pod)?.state?.waiting?.reason === "CreateContainerConfigError",
  );
  assert.deepEqual(await readdir(target), []);

  await execute("rm", [join(source, volume, "end")]);
  await execute("mount", ["--bind", join(source, volume), target]);
  const again = await eventually(
    store,
    Pods,
    "lost",
    (pod) => mounted(pod)?.status === "True" && main(pod)?.state?.running !== undefined,
  );
  assert.equal(main(again)?.restartCount, 1);
  await remove("lost");
});
