import { test } from "node:test";
import { PersistentVolumeClaims, VolumeGroupSnapshots, VolumeSnapshots } from "@mooring/store";
import { thorough } from "@mooring/store/testing";
import { type Cluster, type ControlPlane, missing, startCluster } from "./cluster.ts";
import { Work } from "./work.ts";
import { Writer } from "./writer.ts";

const [CLAIMS, SNAPSHOTS, GROUPS, MEMBERS, WRITERS] = [50, 20, 5, 3, 3];

const skip = thorough().skip || (missing() ?? false);

/** What a control plane has made. Whoever uses it takes from it what it deletes. */
interface Made {
  claims: string[];
  snapshots: string[];
  groups: string[];
  /** Of the last claims, which are members of groups. */
  writers: Writer[];
}

async function make({ store, driver }: Cluster, work: Work, name: string): Promise<Made> {
  const grouped = await Promise.all(
    Array.from({ length: GROUPS }, (_, index) =>
      work.claims(`${name}-member-${index}`, MEMBERS, { group: `${name}-group-${index}` }),
    ),
  );
  const single = await work.claims(`${name}-claim`, CLAIMS - GROUPS * MEMBERS);
  const claims = [...single, ...grouped.flat()];
  await work.bound(claims);
  const writers: Writer[] = [];
  for (const claim of claims.slice(-WRITERS)) writers.push(await Writer.start(store, driver, claim));
  const snapshots = await work.snapshots(`${name}-snapshot`, claims.slice(0, SNAPSHOTS));
  const groups = await work.groupSnapshots(grouped.map((_, index) => `${name}-group-${index}`));
  await work.ready(snapshots);
  await work.groupsReady(groups);
  return { claims, snapshots, groups, writers };
}

/** All that users do with what another control plane has made. */
async function use(work: Work, made: Made, { name, size }: { name: string; size: string }) {
  const groups = made.groups.splice(0, 2);
  const members = await work.membersOf(groups);
  const restored = await work.restores(`${name}-restored`, [...made.snapshots.slice(0, 3), ...members]);
  const source = () => ({ kind: "PersistentVolumeClaim", name: made.claims[0] ?? "" });
  const clones = await work.claims(`${name}-clone`, 2, { source });
  const copies = await work.snapshots(`${name}-snapshot`, made.claims.slice(0, 3));
  await work.bound([...restored, ...clones]);
  await work.ready(copies);
  for (const writer of made.writers) {
    await writer.grow(size);
    await writer.goesOn();
  }
  await work.remove(VolumeGroupSnapshots, groups);
  await work.remove(VolumeSnapshots, [...copies, ...made.snapshots.splice(0, 5)]);
  await work.remove(PersistentVolumeClaims, [...restored, ...clones, ...made.claims.splice(0, 5)]);
}

/** From the sidecars to Mooring and back. */
async function life(cluster: Cluster, all: Made[], run: (next: ControlPlane | undefined) => void) {
  const work = new Work(cluster);
  const start = async (starting: Promise<ControlPlane>) => {
    const started = await starting;
    run(started);
    return started;
  };
  const first = await start(cluster.startSidecars());
  const theirs = await make(cluster, work, "theirs");
  all.push(theirs);
  const underWay = await work.claims("while-they-end", 10);
  // Some of these are being made: whoever comes makes the same calls again.
  await first.end("SIGKILL");
  const waiting = await work.claims("while-nobody-is-there", 5);

  const mooring = await start(cluster.startMooring());
  await work.bound([...underWay, ...waiting]);
  await use(work, theirs, { name: "by-mooring", size: "32Mi" });
  const ours = await make(cluster, work, "ours");
  all.push(ours);
  await work.settled();
  await mooring.end("SIGTERM");

  const between = await work.claims("while-mooring-has-ended", 5);
  const last = await start(cluster.startSidecars());
  await work.bound(between);
  await use(work, ours, { name: "by-sidecars", size: "32Mi" });
  await use(work, theirs, { name: "back", size: "48Mi" });
  for (const writer of all.flatMap(({ writers }) => writers.splice(0))) {
    await writer.goesOn();
    await writer.end();
  }
  await work.removeAll();
  await last.end("SIGTERM");
  run(undefined);
}

test("from the sidecars to Mooring and back, under write: what one has made the other grows, copies and deletes, and nothing is left", {
  skip,
}, async () => {
  const cluster = await startCluster();
  const all: Made[] = [];
  let running: ControlPlane | undefined;
  const run = (next: ControlPlane | undefined) => {
    running = next;
  };
  const failure = await life(cluster, all, run).then(
    () => undefined,
    (error: unknown) => error,
  );
  for (const writer of all.flatMap(({ writers }) => writers)) await writer.stop().catch(() => {});
  await running?.end("SIGKILL").catch(() => {});
  // What a life that has failed has left is no failure of its own.
  await cluster.end().catch((error: unknown) => {
    if (failure === undefined) throw error;
  });
  if (failure !== undefined) throw failure;
});
