import assert from "node:assert/strict";
import { test } from "node:test";
import {
  atRest,
  isConflict,
  isStatus,
  type KubeObject,
  lastingSleepers,
  mutate,
  type Resource,
  reconcileCounts,
} from "@mooring/store";
import { howMany } from "@mooring/store/testing";
import fc from "fast-check";
import { VolumeAttachments } from "./api/attachment.ts";
import { GroupSnapshots } from "./api/group-snapshot.ts";
import { MOORING_API_VERSION } from "./api/names.ts";
import { NodeAgents } from "./api/node-agent.ts";
import { Pools } from "./api/pool.ts";
import { RecurringJobs } from "./api/recurring-job.ts";
import { ShareManagers } from "./api/share-manager.ts";
import { Snapshots } from "./api/snapshot.ts";
import { Volumes } from "./api/volume.ts";
import { snapshotObject, volumeObject } from "./testing/agent.ts";
import { Cluster } from "./testing/cluster.ts";
import { MIB } from "./testing/scratch.ts";
import { addTicket, removeTickets } from "./tickets/tickets.ts";

/** Those that something waits for first: they are disturbed most. */
const KINDS = [
  ...[Volumes, Snapshots, VolumeAttachments, GroupSnapshots],
  ...[RecurringJobs, ShareManagers, Pools, NodeAgents],
] as unknown as Resource<KubeObject>[];

/** One pool with devices and one without, on a node each. */
const POOLS = [
  { name: "p", type: "xfs", node: "node-1" },
  { name: "q", type: "directory", node: "node-2" },
] as const;

type Deed = "volume" | "copy" | "snapshot" | "group" | "job" | "ticket" | "drop" | "grow" | "restore";
type Change =
  | { do: Deed; which: number; pool: 0 | 1 }
  | { do: "delete" | "strip" | "touch"; kind: number; which: number };

const DEEDS = [
  ...["volume", "copy", "snapshot", "group", "job", "ticket", "drop", "grow", "restore"],
] as Deed[];
const which = fc.nat({ max: 1 });
const change: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom(...DEEDS),
      which,
      pool: fc.constantFrom(0 as const, 1 as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom("delete" as const, "strip" as const, "touch" as const),
      kind: fc.oneof(fc.nat({ max: 3 }), fc.nat({ max: KINDS.length - 1 })),
      which,
    }),
  },
);

/** What an administrator, a driver's requests and the data services may do to one volume of each pool. */
function deedsOn(
  { store }: Cluster,
  number: number,
  pool: (typeof POOLS)[number],
): Record<Deed, () => unknown> {
  const { name, node } = pool;
  const [volume, snapshot] = [`v-${name}-${number}`, `s-${name}-${number}`];
  const ticket = { id: `csi-${number}`, type: "csi-attacher" as const, nodeID: node };
  const object = (kind: string, of: string) => ({
    apiVersion: MOORING_API_VERSION,
    kind,
    metadata: { name: of },
  });
  return {
    volume: () => store.create(Volumes, volumeObject(volume, { pool: name })),
    copy: () => {
      const source = { kind: "Volume" as const, name: volume };
      return store.create(Volumes, volumeObject(`v-${name}-1${number}`, { pool: name, source }));
    },
    snapshot: () => {
      const made = snapshotObject(snapshot, volume);
      return store.create(Snapshots, { ...made, spec: { ...made.spec, pool: name } });
    },
    group: () => {
      const members = POOLS.map((of) => ({
        volume: `v-${of.name}-${number}`,
        snapshot: `s-${of.name}-2${number}`,
        pool: of.name,
      }));
      return store.create(GroupSnapshots, { ...object("GroupSnapshot", `g-${number}`), spec: { members } });
    },
    job: () => {
      const spec = { cron: "* * * * *", task: "snapshot" as const, retain: 1, groups: ["default"] };
      return store.create(RecurringJobs, { ...object("RecurringJob", `j-${number}`), spec });
    },
    ticket: () => addTicket(store, volume, ticket, { now: new Date() }),
    drop: () => removeTickets(store, volume, ({ id }) => id === ticket.id),
    grow: () =>
      mutate(store, Volumes, { name: volume }, ({ spec }) => {
        spec.size = 96 * MIB;
      }),
    restore: () =>
      mutate(store, Volumes, { name: volume }, ({ spec }) => {
        spec.restoreFrom = { snapshot };
      }),
  };
}

async function make(cluster: Cluster, what: Change): Promise<void> {
  if (!("kind" in what)) return void (await deedsOn(cluster, what.which, POOLS[what.pool])[what.do]());
  const { store } = cluster;
  const resource = KINDS[what.kind];
  const metadata = resource && (await store.list(resource)).items[what.which]?.metadata;
  if (resource === undefined || metadata === undefined) return;
  const key = { name: metadata.name };
  if (what.do === "delete") return void (await store.delete(resource, key));
  await mutate(store, resource, key, (object) => {
    if (what.do === "strip") object.metadata.finalizers = [];
    else object.metadata.labels = { ...object.metadata.labels, touched: String(Math.random()) };
  });
}

/** What the history has come too late for, or the API refuses. */
function forgive(error: unknown): void {
  if (isConflict(error) || isStatus(error, "NotFound", "AlreadyExists", "Invalid", "Forbidden")) return;
  throw error;
}

test("histories of random changes: no controller of the engine sleeps through what it has to do", async (t) => {
  const cluster = await Cluster.open(t, POOLS);
  await fc.assert(
    fc.asyncProperty(
      fc.array(change, { minLength: 4, maxLength: 20 }),
      fc.boolean(),
      fc.boolean(),
      async (history, atOnce, settles) => {
        if (atOnce) await Promise.all(history.map((each) => make(cluster, each).catch(forgive)));
        else for (const each of history) await make(cluster, each).catch(forgive);
        if (settles) await atRest();
        else assert.deepEqual(await lastingSleepers(), []);
      },
    ),
    { numRuns: howMany({ everyday: 5, full: 60, deep: 1_000 }), endOnFailure: true },
  );
  const forgotten = [...reconcileCounts()].filter(([, { resyncFound }]) => resyncFound > 0);
  assert.deepEqual(forgotten, []);
});
