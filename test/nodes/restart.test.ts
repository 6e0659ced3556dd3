import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { NodeAgents, type Volume, VolumeAttachments, Volumes } from "@mooring/engine";
import {
  KubeVolumeAttachments,
  LocalStore,
  PersistentVolumeClaims,
  PersistentVolumes,
  ResourceRegistry,
} from "@mooring/store";
import { eventually, everyday, thorough } from "@mooring/store/testing";
import { claim } from "../support/manifests.ts";
import { PodWriter } from "./support/pods.ts";
import { TestVolume } from "./support/volume.ts";
import { Nodes } from "./support/world.ts";
import { stints, Writer } from "./support/writer.ts";

const NAMESPACE = "default";
describe("an upgrade or a restart takes nothing from who has it on another machine", () => {
  let nodes: Nodes;
  let writer: PodWriter;
  after(() => nodes?.dispose());
  before(async () => {
    // So long that no lease runs out while the API server is away, however long its start takes: a node stops its writers after
    // half a lease without one, and a pod whose writer fails gives its volume back.
    nodes = await Nodes.sharing(["a", "b"], "60m", ["--lease-duration", "30m"]);
    await nodes.kubectl.apply(CLASS);
    const store = await nodes.store();
    await store.create(PersistentVolumeClaims, claim(NAMESPACE, "kept", { className: "common" }));
    writer = await PodWriter.create(nodes, "kept-a", "a", "kept");
    await writer.progress(30);
  });

  async function handle(): Promise<string> {
    const store = await nodes.store();
    const bound = await store.get(PersistentVolumeClaims, { namespace: NAMESPACE, name: "kept" });
    const volume = await store.get(PersistentVolumes, { name: bound.spec?.volumeName ?? "" });
    return volume.spec?.csi?.volumeHandle ?? "";
  }

  async function volume(): Promise<Volume> {
    return (await nodes.store()).get(Volumes, { name: await handle() });
  }

  /** The arbiter, the agents and the sidecars act again: a volume is made and goes to a node and back. */
  async function everythingActs(name: string): Promise<void> {
    const other = await TestVolume.create(nodes, name, "common");
    await other.publish("b");
    await other.unpublish("b");
    await other.remove();
  }

  /** Every change of what is wanted of a volume is counted: it was never taken away, not even for a moment. */
  async function untouched(before: Volume): Promise<void> {
    // First, as it prints why when the writer has failed.
    await writer.progress(30);
    const now = await volume();
    assert.equal(now.metadata.generation, before.metadata.generation);
    assert.deepEqual([now.spec.nodeID, now.status?.currentNodeID, now.status?.state], ["a", "a", "attached"]);
    assert.equal((await writer.object())?.status?.containerStatuses?.[0]?.restartCount, 0);
    const [only, ...more] = stints(await writer.content());
    assert.deepEqual([only?.node, more], ["a", []]);
  }

  test(
    "kill -9 of the API server: writers go on without it, and it finds things as they are",
    thorough(),
    async () => {
      const before = await volume();
      await nodes.up.end("SIGKILL");
      await writer.progress(30);
      await nodes.up.start();
      await everythingActs("after-kill");
      await untouched(before);
    },
  );

  test(
    "an API server without tickets, as before there were any: they are made of its attachments first",
    thorough(),
    async () => {
      const before = await volume();
      const id = await handle();
      await nodes.up.end("SIGKILL");
      await forgetTickets(join(nodes.up.stateDir, "store"), id);
      await nodes.up.start();
      const store = await nodes.store();
      const tickets = await eventually("the ticket to be back", async () => {
        const found = await store.get(VolumeAttachments, { name: id }).catch(() => undefined);
        const all = Object.values(found?.spec.attachmentTickets ?? {});
        return all.length === 1 ? all : undefined;
      });
      const [attachment] = (await store.list(KubeVolumeAttachments)).items;
      assert.equal(attachment?.spec?.nodeName, "a");
      assert.deepEqual(
        [tickets[0]?.type, tickets[0]?.nodeID, tickets[0]?.owner?.name],
        ["csi-attacher", "a", attachment?.metadata.name],
      );
      await everythingActs("after-import");
      await untouched(before);
    },
  );

  test(
    "kill -9 of the node's own process: its pods go on, and the next one takes them over",
    everyday(),
    async () => {
      const before = await volume();
      const a = nodes.machine("a");
      const keeper = await a.killAgent();
      await writer.progress(30);
      await a.start({ inside: keeper });
      const store = await nodes.store();
      await eventually("node a to be ready", async () => {
        return (await store.get(NodeAgents, { name: "a" })).status?.state === "Ready";
      });
      await everythingActs("after-agent");
      await untouched(before);
      await writer.remove();
      await eventually("the volume to be detached", async () => {
        const { status, spec } = await volume();
        return status?.state === "detached" && (spec.nodeID ?? "") === "";
      });
    },
  );

  test(
    "a volume that is detached while it is mounted: others wait for its users, and its own node has it back, also when both sides were killed meanwhile",
    everyday(),
    async () => {
      const loose = await TestVolume.create(nodes, "loose", "common");
      const a = nodes.machine("a");
      const user = new Writer(a, `${await loose.publish("a")}/log`);
      await user.progress(50);
      await loose.detach("a");
      const IN_USE = /cannot be detached: \/dev\/loop\d+ is in use: mounted at /;
      await assert.rejects(loose.attach("b"), IN_USE);
      await assert.rejects(loose.remove(), IN_USE);
      await nodes.up.end("SIGKILL");
      const keeper = await a.killAgent();
      await nodes.up.start();
      await a.start({ inside: keeper });
      await assert.rejects(loose.attach("b"), IN_USE);
      await loose.attach("a");
      // The next pod of this node finds the mount of the one before.
      await loose.mount("a");
      await user.progress(50);
      await loose.detach("a");
      await user.stop();
      await loose.unmount("a");
      await loose.publish("b");
      const [only, ...more] = stints(await nodes.machine("b").run("cat", `${loose.path("b")}/log`));
      assert.deepEqual([only?.node, more], ["a", []]);
      assert.ok((only?.last ?? 0) >= user.acknowledged, `${only?.last} of ${user.acknowledged}`);
      await loose.unpublish("b");
      await loose.remove();
    },
  );
});

/** The store of a version without tickets. */
async function forgetTickets(path: string, name: string): Promise<void> {
  const registry = new ResourceRegistry([{ resource: VolumeAttachments, hasStatus: true }]);
  const store = await LocalStore.open({ path, registry });
  try {
    const found = await store.get(VolumeAttachments, { name });
    const { finalizers: _, ...metadata } = found.metadata;
    await store.update(VolumeAttachments, { ...found, metadata });
    await store.delete(VolumeAttachments, { name });
    assert.deepEqual((await store.list(VolumeAttachments)).items, []);
  } finally {
    await store.close();
  }
}

const CLASS = JSON.stringify({
  apiVersion: "storage.k8s.io/v1",
  kind: "StorageClass",
  metadata: { name: "common" },
  provisioner: "csi.mooring.dev",
  parameters: { pool: "common" },
});
