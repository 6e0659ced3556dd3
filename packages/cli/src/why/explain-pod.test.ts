import assert from "node:assert/strict";
import { test } from "node:test";
import { Events, KubeVolumeAttachments, Nodes, Pods, type Resource } from "@mooring/store";
import { explainContainers } from "./explain-containers.ts";
import { explainPod } from "./explain-pod.ts";
import { explainPodDeletion } from "./explain-pod-deletion.ts";
import { contextOf } from "./kinds.ts";
import { storeOf } from "./testing.ts";

const NOW = "2030-01-01T00:00:00Z";

for (const order of [
  ["FailedScheduling", "FailedAttachVolume", "FailedMount"],
  ["FailedAttachVolume", "FailedMount", "FailedScheduling"],
]) {
  test(`of warnings within one second the last one is what a pod waits for: ${order.join(", ")}`, async (t) => {
    const store = await storeOf(t, [Pods, Events] as Resource[]);
    const pod = await store.create(Pods, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { namespace: "shop", name: "web" },
      spec: { containers: [{ name: "main", image: "" }] },
    });
    for (const [index, reason] of order.entries()) {
      const { name, namespace, uid } = pod.metadata;
      await store.create(Events, {
        apiVersion: "v1",
        kind: "Event",
        // Listed the other way round.
        metadata: { namespace: "shop", name: `web.${9 - index}` },
        involvedObject: {
          apiVersion: "v1",
          kind: "Pod",
          name,
          ...(namespace && { namespace }),
          ...(uid && { uid }),
        },
        ...{ type: "Warning", reason, message: "timeout", lastTimestamp: NOW },
      });
    }
    const { message } = await explainPod(contextOf(store), "shop", "web");
    assert.equal(message, "Pending: FailedMount: timeout");
  });
}

test("a pod of which nobody has reported anything waits for whoever comes next, not for volumes that it does not have", async (t) => {
  const store = await storeOf(t, [Pods, Events, Nodes, KubeVolumeAttachments] as Resource[]);
  const create = (name: string, spec: object) =>
    store.create(Pods, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { namespace: "shop", name },
      spec: { containers: [{ name: "main", image: "" }], ...spec },
    });
  await create("new", {});
  await create("bound", { nodeName: "worker-1" });
  const message = async (name: string) => (await explainPod(contextOf(store), "shop", name)).message;
  assert.equal(await message("new"), "Pending: no scheduler has chosen a node for it yet");
  assert.equal(await message("bound"), "Pending: its node has not started it yet");
});

test("a program that could not be started has no log: its command is what has to be corrected", () => {
  const [found, other] = ["StartError", "Error"].map((reason) => {
    const state = {
      terminated: { exitCode: 128, reason, message: "stat /no/such: no such file or directory" },
    };
    const status = { name: "main", ready: false, restartCount: 0, image: "", imageID: "", state };
    const metadata = { namespace: "shop", name: "web" };
    const pod = { apiVersion: "v1", kind: "Pod", metadata, status: { containerStatuses: [status] } };
    return explainContainers(pod, new Date(NOW)).map(({ next }) => next);
  });
  assert.match(String(found), /^correct its command or image.*kubectl describe pod -n shop web$/);
  assert.match(String(other), /^kubectl logs /);
});

test("a container that was stopped with the machine and runs again has not crashed", () => {
  const findings = (reason: string) => {
    const lastState = { terminated: { exitCode: 143, reason } };
    const state = { running: { startedAt: NOW } };
    const status = { name: "main", ready: true, restartCount: 1, image: "", imageID: "", state, lastState };
    const metadata = { namespace: "shop", name: "web" };
    const pod = { apiVersion: "v1", kind: "Pod", metadata, status: { containerStatuses: [status] } };
    return explainContainers(pod, new Date(NOW)).map(({ message }) => message);
  };
  assert.deepEqual(findings("Shutdown"), []);
  assert.match(String(findings("Error")), /crashed 1 times, the last time with exit code 143/);
});

test("a pod whose volume is not mounted any more after a stop has that for its cause, not how its program ended", async (t) => {
  const store = await storeOf(t, [Pods, Events, Nodes, KubeVolumeAttachments] as Resource[]);
  const terminated = { exitCode: 143, reason: "Shutdown", finishedAt: NOW };
  const status = {
    name: "main",
    ready: false,
    restartCount: 0,
    image: "",
    imageID: "",
    state: { terminated },
  };
  const pod = await store.create(Pods, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace: "shop", name: "web" },
    spec: { containers: [{ name: "main", image: "" }] },
    status: { phase: "Running", containerStatuses: [status] },
  });
  const report = (name: string, message: string, lastTimestamp: string) =>
    store.create(Events, {
      apiVersion: "v1",
      kind: "Event",
      metadata: { namespace: "shop", name },
      involvedObject: { ...pod.metadata, apiVersion: "v1", kind: "Pod" } as object,
      ...{ type: "Warning", reason: "FailedMount", message, lastTimestamp },
    });
  const found = async () => (await explainPod(contextOf(store), "shop", "web")).children;
  await report("web.1", "before the stop", "2029-12-31T23:59:59Z");
  const [waits] = await found();
  assert.equal(waits?.state, "waiting");
  assert.match(String(waits?.message), /have not begun again$/);
  await report("web.2", 'volume "pvc-1": bad superblock', "2030-01-01T00:00:05Z");
  const [fails, ...others] = await found();
  assert.equal(fails?.state, "failed");
  assert.match(String(fails?.message), /begun again: FailedMount: volume "pvc-1": bad superblock$/);
  assert.match(String(fails?.next), /^put right what it says, .*kubectl describe pod -n shop web$/);
  assert.deepEqual(others, []);
});

test("a pod in its grace is deleted since when it was, with the time that it has and its hooks", async (t) => {
  const end = Math.ceil(Date.now() / 1000) * 1000 + 500_000;
  const at = (time: number) => new Date(time).toISOString().replace(".000Z", "Z");
  const lifecycle = { preStop: { exec: { command: ["sleep", "600"] } } };
  const pod = {
    ...{ apiVersion: "v1", kind: "Pod" },
    metadata: {
      ...{ namespace: "shop", name: "web" },
      ...{ deletionTimestamp: at(end), deletionGracePeriodSeconds: 600 },
    },
    spec: { containers: [{ name: "main", image: "", lifecycle }] },
  };
  const context = contextOf(await storeOf(t, [Pods, Events] as Resource[]));
  const found = await explainPodDeletion(context, pod, "Pod shop/web", []);
  assert.equal(
    found.message,
    `is being deleted since ${at(end - 600_000)}: its containers have 600 s to end, until ${at(end)}; first the preStop hook runs in main`,
  );
  assert.match(String(found.next), /kubectl delete pod -n shop web --grace-period=1$/);
});
