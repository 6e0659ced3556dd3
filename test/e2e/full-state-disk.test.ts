import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { NodeAgents } from "@mooring/engine";
import { ConfigMaps, Leases, type RestStore } from "@mooring/store";
import { eventually, thorough } from "@mooring/store/testing";
import { Kubectl } from "../support/kubectl.ts";
import { claim, pod } from "../support/manifests.ts";
import { mooring } from "../support/mooring.ts";
import { SmallDisk } from "../support/small-disk.ts";
import { Up } from "../support/up.ts";

const GRACE_MS = 20_000;

const configMap = (name: string) => ({
  ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "default", name } },
  data: { word: "kept" },
});

/** What an operator reads, wherever that is. */
async function isReported({ stateDir, kubeconfig }: Up, kubectl: Kubectl): Promise<void> {
  const said = /no space left on the disk of \S+: .* MiB .*make room there/;
  const ready = await kubectl.run("get", "--raw", "/readyz").catch((error: Error) => error.message);
  assert.match(ready, /\[-\]state-disk failed/);
  assert.match(ready, said);
  assert.equal(await kubectl.run("get", "--raw", "/livez"), "ok");
  const status = await mooring("status", "--kubeconfig", kubeconfig);
  assert.equal(status.code, 1, status.stdout);
  assert.match(status.stdout, /API server: state-disk +fail/);
  assert.match(status.stdout, said);
  assert.match(status.stdout, /^next: API server: state-disk: make room on the disk/m);
  const doctor = await mooring("doctor", "--state-dir", stateDir);
  assert.equal(doctor.code, 1, doctor.stdout);
  assert.match(doctor.stdout, /API server: state-disk +fail/);
  assert.match(doctor.stdout, /disk of \S+ +fail/);
  const why = await mooring("why", "pvc/refused", "--kubeconfig", kubeconfig);
  assert.equal(why.code, 1, why.stdout);
  assert.match(why.stdout, said);
  assert.match(why.stdout, /^next: make room on the disk/m);
}

/** No node could send heartbeats for so long that it would count as gone. */
async function outlastGrace(store: RestStore): Promise<void> {
  const { spec } = await store.get(Leases, { namespace: "kube-node-lease", name: "node-a" });
  const until = Date.parse(spec?.renewTime ?? "") + 1.5 * GRACE_MS;
  await eventually("the grace of the node to be over", () => Date.now() > until);
}

/** It is how room is made. */
async function deletesAllTheSame(kubectl: Kubectl): Promise<void> {
  await kubectl.run("delete", "pod/spare", "pvc/spare", "configmap/spare", "--timeout=120s");
  const left = await kubectl.run("get", "pod,pvc,configmap", "-o", "name");
  assert.doesNotMatch(left, /spare/);
  await eventually("the volume to be gone", async () => {
    const volumes = await kubectl.run("get", "volumes.storage.mooring.dev,pv", "-o", "name");
    return volumes.trim().split("\n").length === 2;
  });
}

test(
  "a full disk below the state refuses writes with what to do, is reported everywhere, and heals without a restart",
  thorough(),
  async (t) => {
    const disk = await SmallDisk.create(300);
    const stateDir = join(disk.folder, "state");
    await mkdir(stateDir);
    const args = ["--lease-duration", "10s", "--node-grace", `${GRACE_MS / 1000}s`];
    const up = await Up.create({ stateDir, pool: "directory", args });
    t.after(async () => {
      await disk.makeRoom();
      await up.dispose();
      await disk.dispose();
    });
    await up.start();
    const kubectl = new Kubectl(up.kubeconfig);
    const store = await up.store();
    await kubectl.apply(JSON.stringify(claim("default", "data", { size: "16Mi" })));
    await kubectl.apply(
      JSON.stringify(pod("default", "writer", "exec sleep infinity", { mounts: { "/data": "data" } })),
    );
    await kubectl.apply(JSON.stringify(configMap("spare")));
    await kubectl.apply(JSON.stringify(claim("default", "spare", { size: "16Mi" })));
    await kubectl.apply(
      JSON.stringify(pod("default", "spare", "exec sleep infinity", { mounts: { "/data": "spare" } })),
    );
    await kubectl.run("wait", "--for=condition=Ready", "pod/writer", "pod/spare", "--timeout=120s");
    const uid = await kubectl.run("get", "pod/writer", "-o", "jsonpath={.metadata.uid}");
    assert.equal(await kubectl.run("get", "--raw", "/readyz"), "ok");

    await disk.fill(1);
    const refused = await kubectl.feed(JSON.stringify(configMap("refused")), "create");
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /\(InsufficientStorage\): .*no space left on the disk of .*make room there/);
    await assert.rejects(store.create(ConfigMaps, configMap("refused")), { code: 507 });
    await isReported(up, kubectl);
    assert.equal(await kubectl.run("exec", "writer", "--", "echo", "still here"), "still here\n");
    await outlastGrace(store);
    assert.ok(up.alive);
    await deletesAllTheSame(kubectl);

    await disk.makeRoom();
    await kubectl.apply(JSON.stringify(configMap("after")));
    await eventually("the node to be ready", async () => {
      const agent = await store.get(NodeAgents, { name: "node-a" });
      return agent.status?.state === "Ready";
    });
    await kubectl.run("wait", "--for=condition=Ready", "node/node-a", "--timeout=60s");
    assert.equal(await kubectl.run("get", "--raw", "/readyz"), "ok");
    await kubectl.apply(JSON.stringify(claim("default", "later", { size: "16Mi" })));
    await kubectl.run(...["wait", "pvc/later", "--for=jsonpath={.status.phase}=Bound", "--timeout=120s"]);
    assert.equal(
      await kubectl.run("get", "pod/writer", "-o", "jsonpath={.metadata.uid}{.status.phase}"),
      `${uid}Running`,
    );
    const status = await mooring("status", "--kubeconfig", up.kubeconfig);
    assert.doesNotMatch(status.stdout, /state-disk/);
  },
);

test("a node whose disk is nearly full takes no further pods until there is room", thorough(), async (t) => {
  const disk = await SmallDisk.create(1000);
  const stateDir = join(disk.folder, "state");
  await mkdir(stateDir);
  const up = await Up.create({ stateDir, pool: "directory" });
  t.after(async () => {
    await disk.makeRoom();
    await up.dispose();
    await disk.dispose();
  });
  await up.start();
  const kubectl = new Kubectl(up.kubeconfig);
  const waiting = (name: string) => JSON.stringify(pod("default", name, "exec sleep infinity"));
  const taints = () =>
    kubectl.run("get", "node", "node-a", "-o", "jsonpath={.spec.taints[*]['key','effect']}");
  await kubectl.apply(waiting("early"));
  await kubectl.run("wait", "--for=condition=Ready", "pod/early", "--timeout=120s");
  await disk.fill(30);
  await eventually(
    "the taint",
    async () => (await taints()) === "node.kubernetes.io/disk-pressure NoSchedule",
  );
  await kubectl.apply(waiting("late"));
  await eventually("the reason", async () =>
    /untolerated taint.*node\.kubernetes\.io\/disk-pressure/.test(await kubectl.run("describe", "pod/late")),
  );
  assert.equal(await kubectl.run("get", "pod/early", "-o", "jsonpath={.status.phase}"), "Running");
  await disk.makeRoom();
  await kubectl.run("wait", "--for=condition=Ready", "pod/early", "pod/late", "--timeout=120s");
  assert.equal(await taints(), "");
});
