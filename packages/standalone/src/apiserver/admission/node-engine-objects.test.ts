import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { GroupSnapshots, NodeAgents, Pools, Snapshots, Volumes } from "@mooring/engine";
import { isForbidden, type KubeObject, Leases, type Resource, type RestStore } from "@mooring/store";
import { everyday } from "@mooring/store/testing";
import { bundledCrds, installCrds } from "../../crd/install.ts";
import { joinedNode } from "../../node/join/testing/joined.ts";
import { startTestServer, type TestServer } from "../testing/test-server.ts";

let server: TestServer;
/** What the machine "mine" may do; "other" is a machine that is alive. */
let mine: RestStore;
before(async () => {
  server = await startTestServer();
  await installCrds(server.store, await bundledCrds());
  mine = (await joinedNode(server, "mine")).store;
  await agent("mine", "Ready");
  await agent("other", "Ready");
  await pool("disks", ["mine", "other"]);
  await pool("elsewhere", ["other"]);
});
after(async () => {
  mine.close();
  await server.stop();
});

const API = "storage.mooring.dev/v1alpha1";
const made = <S>(kind: string, name: string, spec: S) => ({
  ...{ apiVersion: API, kind, metadata: { name }, spec },
});

/** Made by an administrator, with its status. */
async function put<T extends KubeObject & { status?: unknown }>(
  resource: Resource<T>,
  object: T,
  status: T["status"],
): Promise<T> {
  const created = await server.store.create(resource, object);
  return server.store.updateStatus(resource, { ...created, status });
}

const agent = (name: string, state: "Ready" | "Fenced") =>
  put(NodeAgents, made("NodeAgent", name, {}), { state, conditions: [fenced(state === "Fenced")] });
const fenced = (is: boolean) => ({
  ...{ type: "Fenced", status: is ? ("True" as const) : ("False" as const), reason: "Test", message: "" },
  lastTransitionTime: "2026-01-01T00:00:00Z",
});
const pool = (name: string, nodes: string[]) =>
  put(Pools, made("Pool", name, { type: "xfs" as const, mode: "shared" as const, path: "/x" }), {
    ready: true,
    nodes,
  });
const volume = (name: string, holder: string, inPool = "disks") =>
  put(
    Volumes,
    made("Volume", name, {
      ...{ size: 4096, pool: inPool, volumeMode: "Block" as const, accessMode: "rwo" },
      nodeID: holder,
    }),
    { state: "attached", currentNodeID: holder, ownerID: holder },
  );
const refused = (work: Promise<unknown>, why: RegExp) =>
  assert.rejects(work, (error: unknown) => {
    assert.ok(isForbidden(error), String(error));
    assert.match(String(error), why);
    return true;
  });

test("a node of a shared pool writes no volume that a living node has", everyday(), async () => {
  const theirs = await volume("v-theirs", "other");
  const detached = { state: "detached" as const };
  await refused(
    mine.updateStatus(Volumes, { ...theirs, status: detached }),
    /is on node other, .*not fenced/,
  );
  await refused(
    mine.update(Volumes, { ...theirs, metadata: { ...theirs.metadata, finalizers: ["a.b/c"] } }),
    /is on node other/,
  );
  const far = await volume("v-far", "other", "elsewhere");
  await refused(mine.updateStatus(Volumes, { ...far, status: detached }), /the volume is not on it/);
  const lost = await volume("v-lost", "third");
  await agent("third", "Ready");
  await refused(mine.updateStatus(Volumes, { ...lost, status: detached }), /is on node third/);
  const third = await server.store.get(NodeAgents, { name: "third" });
  const gone = { state: "Fenced" as const, conditions: [fenced(true)] };
  await server.store.updateStatus(NodeAgents, { ...third, status: gone });
  await mine.updateStatus(Volumes, { ...lost, status: detached });
});

test(
  "a node notes of itself alone that it has mounted a volume of another one anew",
  everyday(),
  async () => {
    const at = "2026-01-01T00:00:00.000Z";
    for (const [name, where] of [
      ["v-served", "disks"],
      ["v-served-far", "elsewhere"],
    ] as const) {
      const theirs = await volume(name, "other", where);
      const noted = (remounted: Record<string, string>, state: "attached" | "detached" = "attached") => {
        const status = { ...theirs.status, state, remounted };
        return mine.updateStatus(Volumes, { ...theirs, status });
      };
      await refused(noted({ other: at }), /is on node other|not on it/);
      await refused(noted({ mine: at, third: at }), /is on node other|not on it/);
      await refused(noted({ mine: at }, "detached"), /is on node other|not on it/);
      assert.deepEqual((await noted({ mine: at })).status?.remounted, { mine: at });
    }
  },
);

test("a node makes nobody but itself the holder of a volume", async () => {
  const own = await volume("v-own", "mine");
  const status = { state: "attached" as const, currentNodeID: "other", ownerID: "mine" };
  await refused(mine.updateStatus(Volumes, { ...own, status }), /only itself .*status\.currentNodeID/);
  const given = { state: "detached" as const, ownerID: "other" };
  await refused(mine.updateStatus(Volumes, { ...own, status: given }), /only itself .*status\.ownerID/);
  await mine.updateStatus(Volumes, { ...own, status: { state: "detached", ownerID: "mine" } });
});

test("a node writes no snapshot that a living node has", async () => {
  const spec = { volume: "v-theirs", pool: "disks" };
  const theirs = await put(Snapshots, made("Snapshot", "s-theirs", spec), {
    ...{ readyToUse: true, ownerID: "other" },
  });
  const status = { readyToUse: false, ownerID: "mine" };
  await refused(mine.updateStatus(Snapshots, { ...theirs, status }), /is on node other/);
});

test("a node reports its own part of a group snapshot only", async () => {
  const members = [{ volume: "v-theirs", snapshot: "s-1", pool: "disks" }];
  const theirs = { attempt: 1, phase: "prepared" as const };
  const status = {
    ...{ state: "quiescing" as const, attempt: 1, readyToUse: false },
    nodes: { other: theirs },
  };
  const group = await put(GroupSnapshots, made("GroupSnapshot", "g-1", { members }), status);
  const with_ = (change: object) =>
    mine.updateStatus(GroupSnapshots, { ...group, status: { ...status, ...change } });
  await refused(with_({ state: "committed" }), /own part of a barrier/);
  await refused(with_({ nodes: { other: { attempt: 1, phase: "cut" } } }), /own part of a barrier/);
  const owned = { apiVersion: "v1", kind: "Pod", name: "gone", uid: "none" };
  await refused(
    mine.update(GroupSnapshots, { ...group, metadata: { ...group.metadata, ownerReferences: [owned] } }),
    /own part of a barrier|cannot update/,
  );
  await with_({ nodes: { other: theirs, mine: { attempt: 1, phase: "prepared" } } });
});

test("a node says of a shared pool only that it has it itself", async () => {
  const theirs = await server.store.get(Pools, { name: "elsewhere" });
  await refused(
    mine.updateStatus(Pools, { ...theirs, status: { ready: true, nodes: ["mine"] } }),
    /which other nodes have a pool/,
  );
  await mine.updateStatus(Pools, { ...theirs, status: { ready: true, nodes: ["mine", "other"] } });
  const current = await server.store.get(Pools, { name: "elsewhere" });
  await server.store.updateStatus(Pools, { ...current, status: { ready: true, nodes: ["other"] } });
});

test("a node does not change what a shared pool is, whether it has it or not", async () => {
  for (const name of ["disks", "elsewhere"]) {
    const theirs = await server.store.get(Pools, { name });
    await refused(
      mine.update(Pools, { ...theirs, spec: { ...theirs.spec, path: "/tmp/mine" } }),
      /change it on the machine of the API server/,
    );
    await mine.update(Pools, { ...theirs, spec: { path: "/x", mode: "shared", type: "xfs" } });
  }
});

test("a node has nothing collected as the dependent of an owner that is not there, and holds nothing back", async () => {
  const ownerReferences = [{ apiVersion: "v1", kind: "Node", name: "gone", uid: "none" }];
  const kept = ["somebody.example.com/keeps"];
  await volume("v-mine", "mine");
  const spec = { volume: "v-mine", pool: "disks" };
  await put(Snapshots, made("Snapshot", "s-mine", spec), { readyToUse: true, ownerID: "mine" });
  for (const [kind, name] of [
    [Pools, "elsewhere"],
    [Volumes, "v-mine"],
    [Snapshots, "s-mine"],
  ] as const) {
    const resource = kind as Resource<KubeObject>;
    const object = await server.store.get(resource, { name });
    const write = (change: object) =>
      mine.update(resource, { ...object, metadata: { ...object.metadata, ...change } });
    await refused(write({ ownerReferences }), /whose an object is/);
    await refused(write({ finalizers: kept }), /what keeps it/);
    await write({ finalizers: ["storage.mooring.dev/engine"] });
  }
});

test("a node writes leases of images of its pools only", async () => {
  const lease = (image: string, name = `mooring-image-${image}`) => ({
    apiVersion: "coordination.k8s.io/v1" as const,
    kind: "Lease" as const,
    metadata: { namespace: "kube-system", name, labels: { "storage.mooring.dev/image": image } },
    spec: { holderIdentity: "mine" },
  });
  await volume("v-leased", "other", "elsewhere");
  await refused(mine.create(Leases, lease("v-leased")), /does not have the pool of this image/);
  await refused(mine.create(Leases, lease("v-never-made")), /does not have the pool of this image/);
  await refused(mine.create(Leases, lease("v-own", "leader")), /leases of images and its own only/);
  const taken = await server.store.create(Leases, lease("v-leased"));
  await refused(mine.update(Leases, { ...taken, spec: { holderIdentity: "" } }), /does not have the pool/);
  const key = { namespace: "kube-system", name: "mooring-image-v-leased" };
  await refused(mine.delete(Leases, key), /does not have the pool/);
  await mine.create(Leases, lease("v-own"));
});
