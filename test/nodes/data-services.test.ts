import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Snapshots, type Volume, Volumes } from "@mooring/engine";
import {
  isNotFound,
  KubeVolumeAttachments,
  PersistentVolumeClaims,
  PersistentVolumes,
  type Pod,
  Pods,
  VolumeSnapshots,
} from "@mooring/store";
import { eventually, everyday, thorough } from "@mooring/store/testing";
import { claim, pod, snapshot } from "../support/manifests.ts";
import { Nodes } from "./support/world.ts";

const NAMESPACE = "default";
/** What it has written is there under its name when it is on disk: nothing is left to fail then. */
const WRITE_AND_STAY = "echo kept > /data/new; sync /data/new; mv /data/new /data/f; exec sleep infinity";
const PATIENCE = { withinMs: 240_000 };

describe("data services of a pool that two nodes share, by kubectl", () => {
  let nodes: Nodes;
  after(() => nodes?.dispose());
  before(async () => {
    nodes = await Nodes.create({ nodes: [], shared: true });
    await nodes.join(["a", "b"]);
    await nodes.kubectl.apply(CLASS);
  });

  const apply = (...objects: object[]) =>
    nodes.kubectl.apply(JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }));

  function podOn(node: string, name: string, script: string, claimName: string): Pod {
    const plain = pod(NAMESPACE, name, script, { mounts: { "/data": claimName } });
    const spec = { ...plain.spec, nodeSelector: { "kubernetes.io/hostname": node } };
    return { ...plain, spec } as Pod;
  }

  /** Runs a script to its end on this node, with the claim at /data. */
  async function run(node: string, name: string, claimName: string, script: string): Promise<void> {
    await apply(podOn(node, name, script, claimName));
    const store = await nodes.store();
    await eventually(
      `pod ${name} to succeed`,
      async () => {
        const { status } = await store.get(Pods, { namespace: NAMESPACE, name });
        if (status?.phase === "Failed") assert.fail(await nodes.kubectl.run("logs", name));
        return status?.phase === "Succeeded";
      },
      PATIENCE,
    );
    await nodes.kubectl.run("delete", "pod", name);
  }

  async function handle(claimName: string): Promise<string> {
    const store = await nodes.store();
    const name = await eventually(
      `claim ${claimName} to be bound`,
      async () => {
        const { spec } = await store.get(PersistentVolumeClaims, { namespace: NAMESPACE, name: claimName });
        return spec?.volumeName;
      },
      PATIENCE,
    );
    const volume = await store.get(PersistentVolumes, { name });
    return volume.spec?.csi?.volumeHandle ?? "";
  }

  /** The volume of the claim once it is as the test wants it. */
  async function volumeWhere(claimName: string, is: (volume: Volume) => boolean): Promise<Volume> {
    const store = await nodes.store();
    const name = await handle(claimName);
    let last: Volume | undefined;
    return eventually(
      `volume ${name} of ${claimName}`,
      async () => {
        last = await store.get(Volumes, { name });
        return is(last) ? last : undefined;
      },
      PATIENCE,
    ).catch((error: unknown) => {
      throw new Error(`${String(error)}: ${JSON.stringify({ spec: last?.spec, status: last?.status })}`);
    });
  }

  const detached = (claimName: string) =>
    volumeWhere(claimName, ({ spec, status }) => status?.state === "detached" && (spec.nodeID ?? "") === "");

  async function ready(name: string): Promise<void> {
    const store = await nodes.store();
    await eventually(
      `snapshot ${name} to be ready`,
      async () => (await store.get(VolumeSnapshots, { namespace: NAMESPACE, name })).status?.readyToUse,
      PATIENCE,
    );
  }

  /** A claim of the shared pool in which node a has left `from-a`. */
  async function written(name: string): Promise<void> {
    await apply(claim(NAMESPACE, name, { className: "common" }));
    await run("a", `${name}-writer`, name, "echo from-a > /data/f; sync /data/f");
    await detached(name);
  }

  async function clear(...claims: string[]): Promise<void> {
    const store = await nodes.store();
    const { items } = await store.list(PersistentVolumeClaims, { namespace: NAMESPACE });
    const volumes = items
      .filter(({ metadata }) => claims.includes(metadata.name))
      .map(({ spec }) => spec?.volumeName);
    await nodes.kubectl.run("delete", "pvc", ...claims);
    await eventually("no attachment of them to be left", async () => {
      const attachments = (await store.list(KubeVolumeAttachments)).items;
      return !attachments.some(({ spec }) => volumes.includes(spec?.source.persistentVolumeName));
    });
  }

  test(
    "a snapshot of a volume that nobody has is made, and restored for a pod on the other node",
    thorough(),
    async () => {
      await written("cold");
      await apply(snapshot(NAMESPACE, "cold-snap", "cold"));
      await ready("cold-snap");
      await detached("cold");
      await run("a", "cold-later", "cold", "echo later > /data/f; sync /data/f");
      await apply(claim(NAMESPACE, "cold-back", { className: "common", snapshot: "cold-snap" }));
      await run("b", "cold-reader", "cold-back", 'test "$(cat /data/f)" = from-a');
      await run("b", "cold-origin", "cold", 'test "$(cat /data/f)" = later');
      await nodes.kubectl.run("delete", "volumesnapshot", "cold-snap");
      await clear("cold", "cold-back");
    },
  );

  test(
    "a snapshot and a clone of a volume in use on one node are used on the other meanwhile",
    everyday(),
    async () => {
      await apply(claim(NAMESPACE, "hot", { className: "common" }));
      const script =
        "echo one > /data/f; sync /data/f; touch /data/ready; while :; do date > /data/g; sync; sleep 1; done";
      await apply(podOn("a", "hot-writer", script, "hot"));
      const attached = await volumeWhere("hot", ({ status }) => status?.currentNodeID === "a");
      assert.equal(attached.spec.pool, "common");
      await eventually("the writer to have written", async () => {
        const path = (await nodes.machine("a").run("cat", "/proc/self/mountinfo"))
          .split("\n")
          .map((line) => line.split(" ")[4] ?? "")
          .find((target) => target.includes("kubernetes.io~csi") && target.endsWith("/mount"));
        return (
          path !== undefined &&
          nodes
            .machine("a")
            .run("test", "-e", `${path}/ready`)
            .then(
              () => true,
              () => false,
            )
        );
      });
      await apply(
        snapshot(NAMESPACE, "hot-snap", "hot"),
        claim(NAMESPACE, "hot-clone", { className: "common", claim: "hot" }),
      );
      await ready("hot-snap");
      await apply(claim(NAMESPACE, "hot-back", { className: "common", snapshot: "hot-snap" }));
      for (const copy of ["hot-clone", "hot-back"]) {
        await run(
          "b",
          `${copy}-reader`,
          copy,
          'test "$(cat /data/f)" = one; echo two > /data/f; sync /data/f',
        );
      }
      await volumeWhere("hot", ({ status }) => status?.state === "attached" && status.currentNodeID === "a");
      await nodes.kubectl.run("delete", "pod", "hot-writer");
      await run("b", "hot-origin", "hot", 'test "$(cat /data/f)" = one');
      await nodes.kubectl.run("delete", "volumesnapshot", "hot-snap");
      await clear("hot", "hot-clone", "hot-back");
    },
  );

  test(
    "a clone of a volume that nobody has is a volume of its own, wherever its pod runs",
    thorough(),
    async () => {
      await written("twin");
      await apply(claim(NAMESPACE, "twin-clone", { className: "common", claim: "twin", size: "96Mi" }));
      await run(
        "b",
        "twin-reader",
        "twin-clone",
        'test "$(cat /data/f)" = from-a; echo mine > /data/f; sync /data/f',
      );
      await run("b", "twin-origin", "twin", 'test "$(cat /data/f)" = from-a');
      await run("a", "twin-again", "twin-clone", 'test "$(cat /data/f)" = mine');
      await clear("twin", "twin-clone");
    },
  );

  test(
    "a volume that nobody has grows, and its file system with it where it is used next",
    thorough(),
    async () => {
      await written("grown");
      const more = JSON.stringify({ spec: { resources: { requests: { storage: "160Mi" } } } });
      await nodes.kubectl.run("patch", "pvc", "grown", "-p", more);
      await volumeWhere("grown", ({ status }) => status?.size === 160 << 20);
      const size = "test $(df --output=size -k /data | tail -n1) -gt 120000";
      await run("b", "grown-reader", "grown", `test "$(cat /data/f)" = from-a; ${size}`);
      await clear("grown");
    },
  );

  test("a volume is put back to its snapshot after it was used on both nodes", thorough(), async () => {
    await written("undone");
    await apply(snapshot(NAMESPACE, "undone-snap", "undone"));
    await ready("undone-snap");
    await run("b", "undone-later", "undone", "echo broken > /data/f; sync /data/f");
    await detached("undone");
    const store = await nodes.store();
    const id = await handle("undone");
    const [made] = (await store.list(Snapshots)).items.filter(({ spec }) => spec.volume === id);
    const restoreFrom = { snapshot: made?.metadata.name };
    await nodes.kubectl.run(
      ...["patch", "volumes.storage.mooring.dev", id, "--type=merge", "-p"],
      JSON.stringify({ spec: { restoreFrom } }),
    );
    await volumeWhere("undone", ({ status }) => status?.restore?.state === "Restored");
    await run("a", "undone-reader", "undone", 'test "$(cat /data/f)" = from-a');
    await nodes.kubectl.run("delete", "volumesnapshot", "undone-snap");
    await clear("undone");
  });

  test(
    "a job makes snapshots of a volume by the clock, whether nobody has it or a node",
    thorough(),
    async () => {
      await written("timed");
      const id = await handle("timed");
      await apply({
        apiVersion: "storage.mooring.dev/v1alpha1",
        kind: "RecurringJob",
        metadata: { name: "often" },
        spec: { cron: "* * * * *", task: "snapshot", retain: 1 },
      });
      const label = "recurring-job.storage.mooring.dev/often=enabled";
      await nodes.kubectl.run("label", "volumes.storage.mooring.dev", id, label);
      const store = await nodes.store();
      const copied = (except: string | undefined) =>
        eventually(
          "a snapshot by the clock",
          async () => {
            const { items } = await store.list(Snapshots);
            return items.find(
              ({ spec, status, metadata }) =>
                spec.volume === id && status?.readyToUse === true && metadata.uid !== except,
            );
          },
          PATIENCE,
        );
      const first = await copied(undefined);
      await detached("timed");
      await apply(podOn("b", "timed-user", "echo in-use; exec sleep infinity", "timed"));
      await volumeWhere(
        "timed",
        ({ status }) => status?.currentNodeID === "b" && status.state === "attached",
      );
      const second = await copied(first.metadata.uid);
      assert.equal(second.status?.ownerID, "b");
      // One is kept.
      await eventually("the first to be removed", async () =>
        store.get(Snapshots, { name: first.metadata.name }).then(
          () => false,
          (error: unknown) => isNotFound(error),
        ),
      );
      await nodes.kubectl.run("delete", "recurringjob", "often");
      await nodes.kubectl.run("delete", "pod", "timed-user");
      await nodes.kubectl.run("delete", "snapshots.storage.mooring.dev", second.metadata.name);
      await clear("timed");
    },
  );

  test(
    "a volume that fails on one node is repaired and goes on at the other, where its next pod waits",
    thorough(),
    async () => {
      await apply(claim(NAMESPACE, "failed", { className: "common" }));
      await apply(podOn("a", "failed-a", WRITE_AND_STAY, "failed"));
      const a = nodes.machine("a");
      const target = await eventually("the pod to have written", async () => {
        const mounts = (await a.run("cat", "/proc/self/mountinfo"))
          .split("\n")
          .map((line) => line.split(" ")[4] ?? "");
        const found = mounts.find((at) => at.includes("kubernetes.io~csi") && at.endsWith("/mount"));
        const text = await a.run("cat", `${found}/f`).catch(() => "");
        return text === "kept\n" ? found : undefined;
      });
      await a.run("xfs_io", "-x", "-c", "shutdown -f", target);
      await volumeWhere("failed", ({ status }) => status?.robustness === "faulted");
      await apply(podOn("b", "failed-b", 'test "$(cat /data/f)" = kept; exec sleep infinity', "failed"));
      await nodes.kubectl.run("delete", "pod", "failed-a");
      const healed = await volumeWhere(
        "failed",
        ({ status }) =>
          status?.currentNodeID === "b" && status.state === "attached" && status.robustness === "healthy",
      );
      assert.match(healed.status?.salvage?.state ?? "", /Clean|Repaired/);
      assert.equal(healed.status?.salvage?.dataLoss, undefined);
      const store = await nodes.store();
      await eventually(
        "the next pod to run",
        async () => {
          const { status } = await store.get(Pods, { namespace: NAMESPACE, name: "failed-b" });
          assert.notEqual(status?.phase, "Failed");
          return status?.phase === "Running";
        },
        PATIENCE,
      );
      await nodes.kubectl.run("delete", "pod", "failed-b");
      await clear("failed");
    },
  );
});

const CLASS = JSON.stringify({
  apiVersion: "storage.k8s.io/v1",
  kind: "StorageClass",
  metadata: { name: "common" },
  provisioner: "csi.mooring.dev",
  allowVolumeExpansion: true,
  parameters: { pool: "common" },
});
