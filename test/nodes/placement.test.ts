import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Pools, Volumes } from "@mooring/engine";
import { PersistentVolumeClaims, Pods, type RestStore } from "@mooring/store";
import { eventually, thorough } from "@mooring/store/testing";
import { claim, pod } from "../support/manifests.ts";
import { Nodes } from "./support/world.ts";

const MIB = 1024 ** 2;
const NAMES = [1, 2, 3, 4, 5, 6].map((number) => `claim-${number}`);

const LATE = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: late}
provisioner: csi.mooring.dev
volumeBindingMode: WaitForFirstConsumer`;

/** How many volumes are in which pool; no pool may promise more than it has. */
async function placed(store: RestStore): Promise<Record<string, number>> {
  const volumes = (await store.list(Volumes)).items;
  const counts: Record<string, number> = {};
  for (const { metadata, status } of (await store.list(Pools)).items) {
    const own = volumes.filter(({ spec }) => spec.pool === metadata.name);
    counts[metadata.name] = own.length;
    const promised = own.reduce((sum, { spec }) => sum + spec.size, 0);
    assert.ok(promised <= (status?.totalBytes ?? 0), `${metadata.name} has promised ${promised}`);
  }
  return counts;
}

describe("six claims of 400Mi, and pools of 20Gi and 1Gi", () => {
  let nodes: Nodes;
  after(() => nodes?.dispose());
  before(async () => {
    nodes = await Nodes.create({
      nodes: ["b"],
      upArgs: ["--pool", "xfs", "--pool-size", "20Gi"],
      nodeArgs: ["--pool-size", "1Gi"],
    });
    await nodes.kubectl.apply(LATE);
  });

  const bound = (store: RestStore) =>
    eventually("all claims to be bound", async () => {
      const { items } = await store.list(PersistentVolumeClaims, { namespace: "default" });
      return items.filter(({ status }) => status?.phase === "Bound").length === NAMES.length;
    });

  async function cleaned(store: RestStore): Promise<void> {
    await nodes.kubectl.run("delete", "pod,pvc", "--all", "--wait=false");
    await eventually("the volumes to go", async () => (await store.list(Volumes)).items.length === 0);
    await eventually("the pools to know", async () =>
      (await store.list(Pools)).items.every(({ status }) => (status?.promisedBytes ?? 0) < MIB),
    );
  }

  test("bound at once, none goes where it does not fit", thorough(), async () => {
    const store = await nodes.store();
    await Promise.all(
      NAMES.map((name) => store.create(PersistentVolumeClaims, claim("default", name, { size: "400Mi" }))),
    );
    await bound(store);
    const counts = await placed(store);
    assert.ok((counts["default-b"] ?? 0) <= 2, JSON.stringify(counts));
    await cleaned(store);
  });

  test("with pods that come together, all pods get a place where their claim fits", thorough(), async () => {
    const store = await nodes.store();
    for (const name of NAMES) {
      await store.create(
        PersistentVolumeClaims,
        claim("default", name, { size: "400Mi", className: "late" }),
      );
    }
    await Promise.all(
      NAMES.map((name) =>
        store.create(Pods, pod("default", name, "exec sleep infinity", { mounts: { "/data": name } })),
      ),
    );
    await bound(store);
    await eventually("all pods to run", async () => {
      const { items } = await store.list(Pods, { namespace: "default" });
      return items.filter(({ status }) => status?.phase === "Running").length === NAMES.length;
    });
    const counts = await placed(store);
    assert.ok((counts["default-b"] ?? 0) <= 2, JSON.stringify(counts));
    await cleaned(store);
  });
});
