/**
 * One life of a node with its arbiter, data services and group reverts, which puts the volumes of a {@link Round} back:
 * `revert-life.ts DIR ROUND`. Reports what it has come to by messages to its parent, and waits for one before it goes on.
 */
import { once } from "node:events";
import { join } from "node:path";
import {
  armFailpoint,
  LocalStore,
  mutate,
  silentLogger,
  VolumeGroupSnapshotContents,
  VolumeGroupSnapshots,
} from "@mooring/store";
import { nothingSleeps } from "@mooring/store/testing";
import { VolumeGroupReverts } from "../../../packages/engine/src/api/group-revert.ts";
import { GroupSnapshots } from "../../../packages/engine/src/api/group-snapshot.ts";
import { Volumes } from "../../../packages/engine/src/api/volume.ts";
import { startArbiter } from "../../../packages/engine/src/cluster/arbiter/index.ts";
import { startGroupReverts } from "../../../packages/engine/src/cluster/group-revert/index.ts";
import {
  createRevert,
  groupSnapshot,
  NAMESPACE,
  revertIn,
} from "../../../packages/engine/src/cluster/group-revert/testing/group.ts";
import { startServices } from "../../../packages/engine/src/cluster/services/index.ts";
import { createHost } from "../../../packages/engine/src/host/create-host.ts";
import { gone, groupObject } from "../../../packages/engine/src/node/group-snapshot/testing/story.ts";
import { startAgent } from "../../../packages/engine/src/node/index.ts";
import {
  engineRegistry,
  NODE,
  POOL,
  until,
  volumeObject,
} from "../../../packages/engine/src/testing/agent.ts";
import { GIB, MIB } from "../../../packages/engine/src/testing/scratch.ts";
import { type Round, snapshotOf, volumesOf } from "./revert-round.ts";
import { Workload } from "./revert-workload.ts";

const [dir = "", text = ""] = process.argv.slice(2);
const round = JSON.parse(text) as Round;
const volumes = volumesOf(round);
const group = `g-${round.number}`;
const revert = `r-${round.number}`;
const stop = new AbortController();
const store = await LocalStore.open({ path: join(dir, "store"), registry: engineRegistry() });
const common = { store, logger: silentLogger, signal: stop.signal };
const agent = await startAgent({
  ...{ ...common, host: createHost(), nodeID: NODE, stateDir: join(dir, "state") },
  pools: [{ name: POOL, type: round.pool, size: 2 * GIB }],
});
const parts = [await startArbiter(common), await startServices(common), startGroupReverts(common)];
const workloads = volumes.map((volume) => new Workload(store, volume));

await (round.part === "begin" ? begin() : end());
await nothingSleeps({ idle: true, store });
stop.abort();
await Promise.all([agent.done, ...parts.map(({ done }) => done)]);
await store.close();
process.disconnect();

/** Writers on all volumes, a group snapshot under them, more that they write; they leave, and the revert is asked for. */
async function begin(): Promise<void> {
  for (const { name } of workloads) await makeVolume(name);
  const devices = await Promise.all(workloads.map((workload) => workload.enter()));
  await say({ devices });
  const members = volumes.map((volume) => ({ volume, snapshot: snapshotOf(round, volume), pool: POOL }));
  const object = groupObject(group, volumes, { deadlineSeconds: 60 });
  await store.create(GroupSnapshots, { ...object, spec: { ...object.spec, members } });
  const snapshot = await until(
    store,
    GroupSnapshots,
    group,
    ({ status }) => status?.state !== undefined && /ready|failed/.test(status.state),
  );
  if (snapshot.status?.state !== "ready") throw new Error(JSON.stringify(snapshot.status));
  await say({ snapshot: true });
  await Promise.all(workloads.map((workload) => workload.leave()));
  await Promise.all(workloads.map((workload) => workload.idle()));
  await groupSnapshot(
    store,
    group,
    Object.fromEntries(volumes.map((each) => [each, snapshotOf(round, each)])),
  );
  const passed = armFailpoint(round.failpoint);
  if (round.way === "together") await createRevert(store, revert, group);
  await finish();
  await say({ passed });
}

/** Goes on where the last life was killed, while workloads come, read and leave. */
async function end(): Promise<void> {
  let over = false;
  // A life may have been killed before it had asked.
  const asked = (await store.list(VolumeGroupReverts)).items.length > 0;
  if (round.way === "together" && !asked) await createRevert(store, revert, group);
  const watching = workloads.map((workload) => workload.watch(() => over));
  await finish();
  over = true;
  const seen = (await Promise.all(watching)).flat();
  await Promise.all(workloads.map((workload) => workload.idle()));
  await say({ seen });
  if (asked || round.way === "together")
    await store.delete(VolumeGroupReverts, { namespace: NAMESPACE, name: revert });
  await store.delete(VolumeGroupSnapshots, { namespace: NAMESPACE, name: group });
  await store.delete(VolumeGroupSnapshotContents, { name: `content-${group}` });
  await gone(store, GroupSnapshots, group);
}

async function finish(): Promise<void> {
  if (round.way === "together") {
    await revertIn(store, revert, "Complete", ({ metadata }) => (metadata.finalizers ?? []).length === 0);
    return;
  }
  // What a group revert must not be: one volume after the other, and others may read meanwhile.
  for (const volume of volumes) {
    if (round.part === "end") await Promise.all(workloads.map((workload) => workload.seenOften(2)));
    const restoreFrom = { snapshot: snapshotOf(round, volume), request: revert };
    await mutate(store, Volumes, { name: volume }, ({ spec }) => {
      spec.restoreFrom = restoreFrom;
    });
    await until(
      store,
      Volumes,
      volume,
      ({ status }) => status?.restore?.request === revert && status.restore.state === "Restored",
    );
  }
}

async function makeVolume(name: string): Promise<void> {
  if (round.number === 0)
    await store.create(Volumes, volumeObject(name, { volumeMode: "Block", size: 16 * MIB }));
  await until(store, Volumes, name, ({ status }) => status?.state === "detached");
}

async function say(message: object): Promise<void> {
  const responded = once(process, "message");
  process.send?.(message);
  await responded;
}
