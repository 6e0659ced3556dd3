import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Events } from "@mooring/store";
import { eventually as until } from "@mooring/store/testing";
import { eventually, Pods, phase, pod } from "../testing/test-cluster.ts";
import { volumeCluster } from "../testing/volume-cluster.ts";

const { cluster, folder, remove } = await volumeCluster();
const { store } = cluster;

const onHost = (name: string, path: string) =>
  pod(name, "", {
    volumes: [{ name: "host", hostPath: { path, type: "DirectoryOrCreate" } }],
    containers: [
      {
        ...{ name: "main", image: "host", command: ["test", "-d", "/data"] },
        volumeMounts: [{ name: "host", mountPath: "/data" }],
      },
    ],
  });

test("a folder of the machine is made for a pod where there is none", async () => {
  const path = join(folder, "on-host/a/b");
  await store.create(Pods, onHost("made", path));
  await eventually(store, Pods, "made", phase("Succeeded"));
  assert.equal((await stat(path)).mode & 0o777, 0o755);
});

test("where no folder can be made the pod's event reports it, and the pod can be deleted", async () => {
  await store.create(Pods, onHost("nowhere", "/proc/none/a"));
  await until("the event", async () => {
    const { items } = await store.list(Events, { namespace: "default" });
    return items.some(({ message }) => /the folder \/proc\/none cannot be made/.test(message ?? ""));
  });
  await remove("nowhere");
});
