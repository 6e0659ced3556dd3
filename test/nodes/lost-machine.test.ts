import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { NodeAgents } from "@mooring/engine";
import { Nodes as KubeNodes, KubeVolumeAttachments, PersistentVolumeClaims, Pods } from "@mooring/store";
import { eventually, everyday, thorough } from "@mooring/store/testing";
import { claim, pod } from "../support/manifests.ts";
import { pairOfNodes } from "./support/pair.ts";
import { condition, nodeIs, PodWriter, taintsOf } from "./support/pods.ts";
import type { Nodes } from "./support/world.ts";
import { stints } from "./support/writer.ts";

const NAMESPACE = "default";
const OUT_OF_SERVICE = "node.kubernetes.io/out-of-service";
const LOST = ["node.kubernetes.io/unreachable:NoSchedule", "node.kubernetes.io/unreachable:NoExecute"];

describe("pods of a machine that is lost", () => {
  let nodes: Nodes;
  before(async () => {
    nodes = await pairOfNodes();
    await nodes.kubectl.apply(CLASSES);
  });

  async function claimed(name: string, className: string): Promise<void> {
    const store = await nodes.store();
    await store.create(PersistentVolumeClaims, claim(NAMESPACE, name, { className }));
  }

  /** The volume is free at once: whatever was attached to the node is not any more. */
  const isBack = async (name: string) => {
    await nodeIs(nodes, name, "True");
    const store = await nodes.store();
    await eventually(`our taints and messages to leave node ${name}`, async () => {
      const node = await store.get(KubeNodes, { name });
      const fenced = condition(node, "storage.mooring.dev/Fenced") === "True";
      return !fenced && taintsOf(node).every((taint) => !LOST.includes(taint));
    });
  };
  const agent = async (name: string) => (await (await nodes.store()).get(NodeAgents, { name })).status?.state;

  async function isOver(first: PodWriter, second: PodWriter): Promise<void> {
    const [left, right, ...more] = stints(await second.content());
    assert.deepEqual([left?.node, right?.node, more], ["a", "b", []]);
    const promised = await first.acknowledged();
    assert.ok((left?.last ?? 0) >= promised, `${left?.last} of ${promised}`);
    await second.remove();
    const store = await nodes.store();
    await eventually("the volume to be detached everywhere", async () => {
      const { items } = await store.list(KubeVolumeAttachments);
      return items.length === 0;
    });
    await store.delete(PersistentVolumeClaims, { namespace: NAMESPACE, name: second.claim });
  }

  test(
    "its power is lost: they are marked for deletion, leave when its leases are lost, and go on elsewhere",
    everyday(),
    async () => {
      await claimed("powered", "common");
      const first = await PodWriter.create(nodes, "powered-a", "a", "powered");
      await first.progress(50);
      const second = await PodWriter.create(nodes, "powered-b", "b", "powered");
      await nodes.machine("a").losePower();
      await nodeIs(nodes, "a", "Unknown");
      await first.gone();
      const lost = await (await nodes.store()).get(KubeNodes, { name: "a" });
      assert.deepEqual(taintsOf(lost), LOST);
      assert.equal(await agent("a"), "Fenced");
      assert.equal(condition(lost, "storage.mooring.dev/Fenced"), "True");
      const since = (type: string) =>
        Date.parse(lost.status?.conditions?.find((each) => each.type === type)?.lastTransitionTime ?? "");
      assert.equal(condition(lost, "Ready"), "Unknown");
      assert.ok(since("Ready") <= since("storage.mooring.dev/Fenced"), JSON.stringify(lost.status));
      await second.progress(50);
      await nodes.machine("a").start();
      await isBack("a");
      await isOver(first, second);
    },
  );

  test(
    "its network is cut: its writers stop before others begin, and it cleans up when it is back",
    thorough(),
    async () => {
      const a = nodes.machine("a");
      await claimed("parted", "common");
      const first = await PodWriter.create(nodes, "parted-a", "a", "parted");
      await first.progress(50);
      const second = await PodWriter.create(nodes, "parted-b", "b", "parted");
      await a.seat.link("down");
      await second.progress(50);
      assert.equal(await first.object(), undefined);
      await a.seat.link("up");
      await isBack("a");
      await eventually("nothing of the lost pod to be mounted", async () => {
        const mounts = await a.run("cat", "/proc/self/mountinfo");
        return !mounts.includes("kubernetes.io~csi") && !mounts.includes("globalmount");
      });
      await second.progress(50);
      await isOver(first, second);
    },
  );

  test(
    "the API server is killed at every step of it: the next one goes on, and nobody writes at once",
    thorough(),
    async () => {
      const { up } = nodes;
      await claimed("killed", "common");
      const first = await PodWriter.create(nodes, "killed-a", "a", "killed");
      await first.progress(50);
      const second = await PodWriter.create(nodes, "killed-b", "b", "killed");
      await nodes.machine("a").losePower();
      for (const failpoint of ["mark-unknown", "taint", "evict", "remove"]) {
        await up.end("SIGKILL");
        await up.start({ MOORING_FAILPOINT: `standalone/node-lifecycle/${failpoint}` }, { mayDie: true });
        await eventually(`the API server to die behind ${failpoint}`, async () => !up.alive, {
          withinMs: 240_000,
        });
      }
      await up.start();
      await first.gone();
      await second.progress(50);
      await nodes.machine("a").start();
      await isBack("a");
      await isOver(first, second);
    },
  );

  test(
    "data that only it has: they wait, also when it is tainted as off, and go on when it is back",
    thorough(),
    async () => {
      await claimed("kept", "own");
      const store = await nodes.store();
      const first = await PodWriter.create(nodes, "kept-a", "a", "kept");
      await first.progress(50);
      await nodes.machine("a").losePower();
      await eventually("its pod to be marked for deletion", async () => {
        const found = await first.object();
        return found?.metadata.deletionTimestamp !== undefined;
      });
      // It held no lease: only an operator can know that it is off.
      assert.notEqual(await agent("a"), "Fenced");
      await nodes.kubectl.run("taint", "node", "a", `${OUT_OF_SERVICE}=nodeshutdown:NoExecute`);
      await first.gone();
      const next = pod(NAMESPACE, "kept-next", `tail -n1 /data/log; exec sleep infinity`, {
        mounts: {
          "/data": "kept",
        },
      });
      await store.create(Pods, next);
      const refused = await eventually("the scheduler to say why not", async () => {
        const { status } = await store.get(Pods, { namespace: NAMESPACE, name: "kept-next" });
        return status?.conditions?.find(({ type }) => type === "PodScheduled")?.message;
      });
      assert.match(refused, /node\(s\) (were not ready|had volume node affinity conflict)/);
      await nodes.kubectl.run("taint", "node", "a", `${OUT_OF_SERVICE}-`);
      await nodes.machine("a").start();
      await isBack("a");
      const ran = await eventually("the next pod to run", async () => {
        const found = await store.get(Pods, { namespace: NAMESPACE, name: "kept-next" });
        return found.status?.phase === "Running" ? found : undefined;
      });
      assert.equal(ran.spec?.nodeName, "a");
    },
  );
});

const CLASSES = JSON.stringify({
  apiVersion: "v1",
  kind: "List",
  items: [
    {
      apiVersion: "storage.k8s.io/v1",
      kind: "StorageClass",
      metadata: { name: "common" },
      provisioner: "csi.mooring.dev",
      parameters: { pool: "common" },
    },
    {
      apiVersion: "storage.k8s.io/v1",
      kind: "StorageClass",
      metadata: { name: "own" },
      provisioner: "csi.mooring.dev",
      volumeBindingMode: "WaitForFirstConsumer",
    },
  ],
});
