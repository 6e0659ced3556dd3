import { existsSync } from "node:fs";
import { isConflict, isStatus, type KubeObject, Leases, mutate, type Resource } from "@mooring/store";
import { type Disturbance, disturb, eventually } from "@mooring/store/testing";
import fc from "fast-check";
import { VolumeAttachments } from "../api/attachment.ts";
import { VolumeGroupReverts } from "../api/group-revert.ts";
import { GroupSnapshots } from "../api/group-snapshot.ts";
import { LEASE_NAMESPACE, MOORING_API_VERSION } from "../api/names.ts";
import { NodeAgents } from "../api/node-agent.ts";
import { Pools } from "../api/pool.ts";
import { RecurringJobs } from "../api/recurring-job.ts";
import { ShareManagers } from "../api/share-manager.ts";
import { Snapshots } from "../api/snapshot.ts";
import { type VolumeSpec, type VolumeStatus, Volumes } from "../api/volume.ts";
import { createRevert, groupSnapshot } from "../cluster/group-revert/testing/group.ts";
import { isShutOut } from "../leases/decide.ts";
import { leaseName } from "../leases/lease-watch.ts";
import { addTicket, removeTickets } from "../tickets/tickets.ts";
import { snapshotObject, until, volumeObject } from "./agent.ts";
import type { Cluster, ClusterPool } from "./cluster.ts";
import type { Faults } from "./faults.ts";
import { reportNode } from "./report-node.ts";
import { MIB } from "./scratch.ts";

/** Random changes to everything that the controllers of the engine read, and faults that they meet. */

/** Those that something waits for first: they are disturbed most. */
const KINDS = [
  ...[Volumes, Snapshots, VolumeAttachments, GroupSnapshots],
  ...[RecurringJobs, ShareManagers, VolumeGroupReverts, Pools, NodeAgents],
] as unknown as Resource<KubeObject>[];

/** One pool with devices and one without, on a node each, and one that both nodes have open. */
export const POOLS: readonly ClusterPool[] = [
  { name: "p", type: "xfs", node: "node-1" },
  { name: "q", type: "directory", node: "node-2" },
  { name: "r", type: "xfs", node: "node-1", shared: true },
  { name: "r", type: "xfs", node: "node-2", shared: true },
];

/** The pool of both nodes in a Ceph cluster, which can shut a lost node out. */
export function cephPools(rbd: NonNullable<ClusterPool["rbd"]>): readonly ClusterPool[] {
  return ["node-1", "node-2"].map((node) => ({ name: CEPH_POOL, type: "rbd", node, rbd }));
}
const CEPH_POOL = "c";

/** Bytes that a volume has when it has grown. */
const GROWN = 96 * MIB;

const DEEDS = [
  ...["volume", "copy", "snapshot", "group", "job", "ticket", "drop", "grow", "restore", "revert"],
  ...["migrate", "migrate", "confirm", "roll-back", "target-lost"],
  ...["format", "fault", "consent", "mount-again", "mounted-again"],
  ...["share", "unshare", "loss", "fenced", "back", "restart", "failing-writes", "failing-programs"],
] as const;
type Deed = (typeof DEEDS)[number];

/** One change of a history. */
export type Change = { do: Deed; which: number; place: number } | Disturbance;

const which = fc.nat({ max: 1 });

/** Any change in a cluster that has so many pools, counted on each of their nodes. */
export function changeOf(pools: number): fc.Arbitrary<Change> {
  const place = fc.nat({ max: pools - 1 });
  return fc.oneof(
    { weight: 3, arbitrary: fc.record({ do: fc.constantFrom(...DEEDS), which, place }) },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constantFrom("delete", "strip", "touch"),
        kind: fc.oneof(fc.nat({ max: 3 }), fc.nat({ max: KINDS.length - 1 })),
        which,
      }),
    },
  );
}

const object = (kind: string, name: string) => ({
  apiVersion: MOORING_API_VERSION,
  kind,
  metadata: { name },
});

/** A cluster, and what may befall it. */
export class History {
  readonly #cluster: Cluster;
  readonly #faults: Faults;
  /** Of each node, and of the coordinator: they start and stop one after the other. */
  readonly #lives = new Map<string, Promise<void>>();
  readonly #lost = new Set<string>();

  readonly #pools: readonly ClusterPool[];

  /** `pools`: those of the cluster, {@link POOLS} first. */
  constructor(cluster: Cluster, faults: Faults, pools: readonly ClusterPool[] = POOLS) {
    this.#cluster = cluster;
    this.#faults = faults;
    this.#pools = pools;
  }

  /** Makes one change. */
  async make(what: Change): Promise<void> {
    if ("kind" in what) return disturb(this.#cluster.store, KINDS, what);
    const pool = this.#pools[what.place];
    if (pool === undefined) throw new RangeError(`the cluster has no pool ${what.place}`);
    const deeds: Record<Deed, () => unknown> = {
      ...this.#wishes(what.which, pool),
      ...this.#faultsOf(what.which, pool.node),
      ...this.#migration(`v-r-3${what.which}`, pool.node),
      ...this.#reports(what.which, pool),
    };
    await deeds[what.do]();
  }

  /** What an administrator, a driver's requests and the data services may do to two volumes of each pool. */
  #wishes(number: number, { name, node }: ClusterPool) {
    const { store } = this.#cluster;
    const [volume, snapshot] = [`v-${name}-${number}`, `s-${name}-${number}`];
    const shared = `v-${name}-2${number}`;
    const ticket = { id: `csi-${number}-${node}`, type: "csi-attacher" as const, nodeID: node };
    const add = (to: string) => addTicket(store, to, ticket, { now: new Date() });
    const remove = (from: string) => removeTickets(store, from, ({ id }) => id === ticket.id);
    const edit = (to: Partial<VolumeSpec>) =>
      mutate(store, Volumes, { name: volume }, ({ spec }) => void Object.assign(spec, to));
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
        const members = ["p", "q", "r"].map((pool) => ({
          ...{ volume: `v-${pool}-${number}`, snapshot: `s-${pool}-2${number}`, pool },
        }));
        return store.create(GroupSnapshots, { ...object("GroupSnapshot", `g-${number}`), spec: { members } });
      },
      job: () => {
        const spec = { cron: "* * * * *", task: "snapshot" as const, retain: 1, groups: ["default"] };
        return store.create(RecurringJobs, { ...object("RecurringJob", `j-${number}`), spec });
      },
      ticket: () => add(volume),
      drop: () => remove(volume),
      grow: () => edit({ size: GROWN }),
      restore: () => edit({ restoreFrom: { snapshot } }),
      revert: async () => {
        const members = { [volume]: snapshot, [`v-q-${number}`]: `s-q-2${number}` };
        await groupSnapshot(store, `g-${number}`, members).catch(forgive);
        await createRevert(store, `r-${number}`, `g-${number}`);
      },
      share: async () => {
        await store.create(Volumes, volumeObject(shared, { pool: name, accessMode: "rwx" })).catch(forgive);
        await add(shared);
      },
      unshare: () => remove(shared),
    };
  }

  /** What agents and workloads note about volumes that are there, and an operator's consent to lose what is broken. */
  #reports(number: number, { name, node, type }: ClusterPool) {
    const { store } = this.#cluster;
    const volume = `v-${name}-${number}`;
    const note = (change: (status: VolumeStatus) => void) =>
      mutate(
        store,
        Volumes,
        { name: volume },
        {
          change: ({ status }) => {
            if (status?.size !== undefined) change(status);
          },
          subresource: "status",
        },
      );
    const fault = {
      ...({ cause: "filesystem", state: "Faulted", message: "the test says so" } as const),
      faultedAt: new Date().toISOString(),
    };
    return {
      format: async () => {
        const { status } = await store.get(Volumes, { name: volume });
        // Where no growth can find it, it fails: that is a history as well.
        if (type === "xfs" && name === "p" && status?.state === "detached")
          await this.#format(this.#cluster.image(volume, name));
        await note((status) => {
          status.formatted = "ext4";
        });
      },
      fault: () => note((status) => Object.assign(status, { robustness: "faulted", salvage: fault })),
      consent: () =>
        mutate(store, Volumes, { name: volume }, ({ spec, status }) => {
          if (status?.salvage !== undefined) spec.acceptDataLoss = status.salvage.faultedAt;
        }),
      "mount-again": () =>
        note((status) => {
          status.remountRequestedAt = new Date().toISOString();
        }),
      "mounted-again": () =>
        note((status) => {
          const { remounted, remountRequestedAt } = status;
          if (remountRequestedAt !== undefined)
            status.remounted = { ...remounted, [node]: remountRequestedAt };
        }),
    };
  }

  /**
   * The first history: each controller gets something to do, one after the other, as a random one seldom has what comes first. What is
   * asked for is on both nodes, but for what needs an image of the pool with devices.
   */
  async first(): Promise<void> {
    const both = async (...deeds: Deed[]): Promise<void> => {
      for (const what of deeds)
        for (const place of [0, 1, 2] as const) await this.make({ do: what, which: 0, place }).catch(forgive);
    };
    const first = (is: (status: VolumeStatus) => boolean) =>
      until(
        this.#cluster.store,
        Volumes,
        "v-p-0",
        ({ status }) => status?.state === "detached" && is(status),
      );
    await both("volume");
    // Of volumes that nothing is wrong with: a faulted one is attached nowhere, and then no node has anything to copy.
    for (const place of [0, 1, 2] as const) await this.make({ do: "volume", which: 1, place });
    await this.make({ do: "group", which: 1, place: 0 });
    await first(() => true);
    await both("format", "grow");
    // Before it is faulted: a volume that waits for its repair does not grow.
    await first(({ expansion, size }) => expansion === undefined && size === GROWN);
    await both("fault", "mount-again");
    await first(({ salvage }) => salvage?.state === "Clean");
    await both("snapshot", "copy");
    await both("job", "group", "restore", "share", "migrate", "ticket");
    await both("revert");
    const place = this.#pools.findIndex(({ type }) => type === "rbd");
    if (place !== -1) await this.#firstLoss(place);
  }

  /** A node is silent with an image that the other node of the pool wants, and is back when it has been shut out. */
  async #firstLoss(place: number): Promise<void> {
    const { store } = this.#cluster;
    const name = `v-${CEPH_POOL}-0`;
    const make = (what: Deed, at = place) => this.make({ do: what, which: 0, place: at });
    await make("volume");
    await make("ticket");
    await until(store, Volumes, name, ({ status }) => status?.state === "attached");
    await make("ticket", place + 1);
    await make("loss");
    const lease = { namespace: LEASE_NAMESPACE, name: leaseName(name) };
    const node = this.#pools[place]?.node ?? "";
    await eventually("the lost node to be shut out", async () =>
      isShutOut(await store.get(Leases, lease), node),
    );
    await make("back");
  }

  /** A raw volume of the shared pool that both nodes ask for, and what may become of its move. */
  #migration(volume: string, node: string) {
    const { store } = this.#cluster;
    const raw = { pool: "r", accessMode: "rwx", volumeMode: "Block", migratable: true } as const;
    const ticketOf = (nodeID: string) => ({ id: `moves-${nodeID}`, type: "csi-attacher" as const, nodeID });
    const add = (nodeID: string) => addTicket(store, volume, ticketOf(nodeID), { now: new Date() });
    /** Of the two nodes of a move, if there is one now. */
    const placed = async () => (await store.get(Volumes, { name: volume })).spec;
    const leave = (nodeID = "") => removeTickets(store, volume, ({ id }) => id === `moves-${nodeID}`);
    return {
      migrate: async () => {
        await store.create(Volumes, volumeObject(volume, raw)).catch(forgive);
        await add(node);
        await add(node === "node-1" ? "node-2" : "node-1");
      },
      confirm: async () => leave((await placed()).nodeID),
      "roll-back": async () => leave((await placed()).migrationNodeID),
      "target-lost": async () => {
        const { migrationNodeID = "" } = await placed();
        if (migrationNodeID !== "") await this.#lose(migrationNodeID, "Fenced");
      },
    };
  }

  /** It stops; the observer of silent nodes reports the state. */
  async #lose(node: string, state: "Suspect" | "Fenced"): Promise<void> {
    await this.#inTurn(node, async () => {
      this.#lost.add(node);
      await this.#cluster.stopNode(node);
    });
    await this.#report(node, state);
  }

  #report(node: string, state: "Suspect" | "Fenced") {
    const change = reportNode(state);
    return mutate(this.#cluster.store, NodeAgents, { name: node }, { change, subresource: "status" });
  }

  #faultsOf(number: number, node: string) {
    return {
      // Of one that has not stopped, too: its agent contradicts.
      loss: () => (number === 0 ? this.#lose(node, "Suspect") : this.#report(node, "Suspect")),
      fenced: () => this.#lose(node, "Fenced"),
      back: () => this.#inTurn(node, () => this.#return(node)),
      restart: () =>
        this.#inTurn("coordinator", async () => {
          await this.#cluster.stopCoordinator();
          await this.#cluster.startCoordinator();
        }),
      "failing-writes": () => this.#faults.failWrites(1 + 3 * number),
      "failing-programs": () => this.#faults.failPrograms(1 + 3 * number),
    };
  }

  /** A volume that is being deleted is detached, and its image may be gone. */
  async #format(image: string): Promise<void> {
    await this.#cluster.host.exec.run("mkfs.ext4", ["-q", "-F", image]).catch((error: unknown) => {
      if (existsSync(image)) throw error;
    });
  }

  /** All nodes are back, and nothing fails any more. */
  async recover(): Promise<void> {
    this.#faults.clear();
    for (const node of ["node-1", "node-2"]) await this.#inTurn(node, () => this.#return(node));
  }

  async #return(node: string): Promise<void> {
    if (!this.#lost.delete(node)) return;
    this.#faults.clear();
    await this.#cluster.startNode(node);
  }

  #inTurn(who: string, work: () => Promise<void>): Promise<void> {
    const done = (this.#lives.get(who) ?? Promise.resolve()).then(work);
    this.#lives.set(who, done);
    return done;
  }
}

/** What the history has come too late for, or the API refuses. */
export function forgive(error: unknown): void {
  if (isConflict(error) || isStatus(error, "NotFound", "AlreadyExists", "Invalid", "Forbidden")) return;
  throw error;
}
