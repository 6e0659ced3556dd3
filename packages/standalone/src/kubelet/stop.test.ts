import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Events, KubeVolumeAttachments } from "@mooring/store";
import { thorough, eventually as until } from "@mooring/store/testing";
import {
  assertNothingLeft,
  claim,
  eventually,
  logShows,
  PersistentVolumeClaims,
  Pods,
  phase,
  pod,
  podWithClaim,
} from "./testing/test-cluster.ts";
import { FOREVER, volumeCluster } from "./testing/volume-cluster.ts";

const { cluster, folder, remove } = await volumeCluster();

test("a clean stop leaves no process, mount or attachment; the next start runs the pods again on their data", async () => {
  const { store } = cluster;
  await store.create(PersistentVolumeClaims, claim("again"));
  await store.create(
    Pods,
    podWithClaim("again", "again", `echo run >> /data/runs; wc -l < /data/runs; ${FOREVER}`, {
      restartPolicy: "Always",
    }),
  );
  await eventually(store, Pods, "again", phase("Running"));
  // Before it has its trap the program hears of no stop.
  await logShows(cluster, "again", /up\n/);
  await cluster.stopKubelet();
  await assertNothingLeft(join(folder, "kubelet"));
  assert.deepEqual((await store.list(KubeVolumeAttachments)).items, []);
  await cluster.startKubelet();
  const seen = await eventually(store, Pods, "again", (object) => {
    const status = object?.status?.containerStatuses?.[0];
    return status?.restartCount === 1 && status.state?.running !== undefined;
  });
  assert.equal(seen?.status?.containerStatuses?.[0]?.lastState?.terminated?.exitCode, 0);
  await eventually(store, Pods, "again", phase("Running"));
  await logShows(cluster, "again", /^2\n/);
  await remove("again");
});

const YEARS = 1_000_000_000;
const STUBBORN = "trap '' TERM; echo up; while :; do sleep 0.2; done";

/** Its containers are being stopped. */
const stopping = (name: string) =>
  until(`${name} to be stopped`, async () => {
    const { items } = await cluster.store.list(Events, { namespace: "default" });
    return items.some(({ reason, involvedObject }) => reason === "Killing" && involvedObject?.name === name);
  });

test("a pod that heeds no signal and has years to end holds up no clean stop", async () => {
  const { store } = cluster;
  await store.create(Pods, pod("stubborn", STUBBORN, { terminationGracePeriodSeconds: 1 }));
  await eventually(store, Pods, "stubborn", phase("Running"));
  await logShows(cluster, "stubborn", /up/);
  await store.delete(Pods, { namespace: "default", name: "stubborn" }, { gracePeriodSeconds: YEARS });
  await stopping("stubborn");
  await cluster.stopKubelet();
  await assertNothingLeft(join(folder, "kubelet"));
  await cluster.startKubelet();
  await eventually(store, Pods, "stubborn", (object) => object === undefined);
});

test("nothing is left of a pod with probes whose object has gone at once", async () => {
  const { store } = cluster;
  // A busy machine takes its time for a command: no container is to end of that.
  const exec = { exec: { command: ["true"] }, periodSeconds: 1, timeoutSeconds: 60 };
  const command = ["sh", "-c", FOREVER];
  await store.create(
    Pods,
    pod("forced", "", {
      containers: [{ name: "main", image: "host", command, readinessProbe: exec, livenessProbe: exec }],
    }),
  );
  const isReady = ({ type, status }: { type: string; status: string }) =>
    type === "Ready" && status === "True";
  const seen = await eventually(store, Pods, "forced", (object) =>
    Boolean(object?.status?.conditions?.some(isReady)),
  );
  await store.delete(Pods, { namespace: "default", name: "forced" }, { gracePeriodSeconds: 0 });
  const left = async () => {
    const folders = ["pods", "runtime/containers"].map((each) => join(folder, "kubelet", each));
    const lists = await Promise.all(folders.map((each) => readdir(each)));
    return lists.flat().filter((name) => name.startsWith(seen?.metadata.uid ?? "?"));
  };
  await until("nothing to be left of it", async () => (await left()).length === 0, { lastSeen: left });
});

test("a hook that does not end ends with its pod, and with the kubelet", async () => {
  const { store } = cluster;
  const hanging = (name: string) =>
    pod(name, "", {
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          ...{
            name: "main",
            image: "host",
            command: ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.05; done"],
          },
          lifecycle: {
            postStart: { exec: { command: ["sh", "-c", "echo hook >/proc/1/fd/1; exec sleep 100000"] } },
          },
        },
      ],
    });
  await store.create(Pods, hanging("deleted"));
  await logShows(cluster, "deleted", /hook\n/);
  await store.delete(Pods, { namespace: "default", name: "deleted" });
  // The hook itself may take a minute.
  await until("it to be gone", async () => (await store.list(Pods)).items.length === 0, { withinMs: 50_000 });
  await store.create(Pods, hanging("stopped"));
  await logShows(cluster, "stopped", /hook\n/);
  await cluster.stopKubelet();
  await assertNothingLeft(join(folder, "kubelet"));
  await cluster.startKubelet();
  await remove("stopped");
});

test("pods that heed no signal keep no other pod waiting, however many they are", thorough(), async () => {
  const { store } = cluster;
  const names = Array.from({ length: 70 }, (_, at) => `stubborn-${at}`);
  for (const name of names) await store.create(Pods, pod(name, STUBBORN));
  for (const name of names) {
    await eventually(store, Pods, name, { until: phase("Running"), seconds: 120 });
    // It heeds signals until then.
    await logShows(cluster, name, /up/);
    await store.delete(Pods, { namespace: "default", name }, { gracePeriodSeconds: YEARS });
  }
  for (const name of names) await stopping(name);
  await store.create(Pods, pod("other", "exit 0"));
  await eventually(store, Pods, "other", { until: phase("Succeeded"), seconds: 120 });
  for (const name of names)
    await store.delete(Pods, { namespace: "default", name }, { gracePeriodSeconds: 0 });
  for (const name of names)
    await eventually(store, Pods, name, { until: (o) => o === undefined, seconds: 120 });
  await remove("other");
});
