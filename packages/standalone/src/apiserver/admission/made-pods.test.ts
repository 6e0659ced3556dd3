import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { LocalStore, Namespaces, type Pod, Pods, ResourceRegistry, ServiceAccounts } from "@mooring/store";
import { admittingPods } from "./made-pods.ts";

const podIn = (namespace: string, spec: object = {}): Pod => ({
  ...{ apiVersion: "v1", kind: "Pod" },
  metadata: { name: "", generateName: "web-", namespace },
  spec: { containers: [{ name: "main", image: "host" }], ...spec },
});

test("a controller makes no pod that the labels of a namespace, a missing priority or a missing account rule out", async (t) => {
  const path = await mkdtemp(join(tmpdir(), "mooring-made-pods-"));
  const kinds = [Namespaces, Pods, ServiceAccounts].map((resource) => ({ resource, hasStatus: true }));
  const bare = await LocalStore.open({ path, registry: new ResourceRegistry(kinds) });
  t.after(async () => {
    await bare.close();
    await rm(path, { recursive: true, force: true });
  });
  for (const level of ["restricted", "privileged"]) {
    const labels = { "pod-security.kubernetes.io/enforce": level };
    await bare.create(Namespaces, {
      ...{ apiVersion: "v1", kind: "Namespace" },
      metadata: { name: level, labels },
    });
  }
  const store = admittingPods(bare);
  await assert.rejects(store.create(Pods, podIn("restricted")), {
    code: 403,
    message: /^pods "web-" is forbidden: violates PodSecurity "restricted:latest": /,
  });
  await assert.rejects(store.create(Pods, podIn("privileged", { priorityClassName: "first" })), {
    code: 403,
    message: /no PriorityClass with name first was found/,
  });
  const robots = podIn("privileged", { serviceAccountName: "robot" });
  await assert.rejects(store.create(Pods, robots), {
    code: 403,
    message: `pods "web-" is forbidden: error looking up service account privileged/robot: serviceaccount "robot" not found`,
  });
  // Their own is made by itself, so that it may come later.
  await store.create(Pods, podIn("privileged", { serviceAccountName: "default" }));
  const metadata = { name: "robot", namespace: "privileged" };
  await store.create(ServiceAccounts, { apiVersion: "v1", kind: "ServiceAccount", metadata });
  await store.create(Pods, robots);
  assert.equal((await store.list(Pods)).items.length, 2);
});
