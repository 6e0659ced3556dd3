import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import {
  type GroupSnapshot,
  GroupSnapshots,
  MOORING_API_VERSION,
  NodeAgents,
  startServices,
  Volumes,
} from "@mooring/engine";
import { mutate, silentLogger } from "@mooring/store";
import { endAtRest } from "@mooring/store/testing";
import { type Cluster, startCluster } from "../testing/scripted-node.ts";
import { failureOf } from "../testing/world.ts";

let cluster: Cluster;
let services: { done: Promise<void> };
const stop = new AbortController();
before(async () => {
  cluster = await startCluster(["a", "b"]);
  const { store } = cluster;
  services = await startServices({ store, logger: silentLogger, signal: stop.signal });
});
after(() =>
  endAtRest(async () => {
    stop.abort();
    await services.done.catch(() => {});
    await cluster.end();
  }),
);

test("the caller of a group snapshot reads which node does not respond, and for which volume", async () => {
  const { client, store } = cluster;
  const volume = { apiVersion: MOORING_API_VERSION, kind: "Volume" };
  const sourceVolumeIds: string[] = [];
  for (const node of ["a", "b"]) {
    const name = `v-${node}`;
    const spec = { size: 4096, pool: node, volumeMode: "Block", accessMode: "rwo" } as const;
    await store.create(Volumes, { ...volume, metadata: { name }, spec });
    sourceVolumeIds.push(name);
  }
  const away = { state: "Suspect" } as const;
  await mutate(
    store,
    NodeAgents,
    { name: "b" },
    { change: (agent) => ({ ...agent, status: away }), subresource: "status" },
  );
  const call = () => client.groupController.createVolumeGroupSnapshot({ name: "group", sourceVolumeIds });
  const { code, message } = await failureOf(call());
  assert.equal(code, "ABORTED", message);
  assert.match(message, /pending, because volume v-b on node b: its agent does not respond/);
  const group = (await store.list(GroupSnapshots)).items[0];
  assert.equal(group?.status?.error?.message, "volume v-b on node b: its agent does not respond");
});

test("of an attempt that failed nothing is left, and the caller learns that: a refusal, not a maybe", async () => {
  const { client, store } = cluster;
  const request = { name: "late", sourceVolumeIds: ["v-a", "v-b"] };
  const refused = failureOf(client.groupController.createVolumeGroupSnapshot(request));
  const made = async () =>
    (await store.list(GroupSnapshots)).items.find(({ spec }) => spec.request?.["name"] === "late");
  let group = await made();
  for (; group === undefined; group = await made()) await setImmediate();
  const status: GroupSnapshot["status"] = {
    ...{ state: "failed", attempt: 1, readyToUse: false },
    error: { code: "DEADLINE_EXCEEDED", message: "node b did not copy in time" },
  };
  await mutate(
    store,
    GroupSnapshots,
    { name: group.metadata.name },
    { change: (g) => ({ ...g, status }), subresource: "status" },
  );
  const { code, message } = await refused;
  assert.deepEqual([code, message], ["FAILED_PRECONDITION", "node b did not copy in time"]);
  assert.equal(await made(), undefined);
});
