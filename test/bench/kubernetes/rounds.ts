import {
  KubeVolumeAttachments,
  type ObjectStore,
  PersistentVolumeClaims,
  PersistentVolumes,
  VolumeGroupSnapshotContents,
  VolumeGroupSnapshots,
  VolumeSnapshotContents,
  VolumeSnapshots,
} from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import type { Measurement } from "../measure.ts";
import { type BenchCluster, startCluster } from "./cluster.ts";
import { compare, IN_SMALL } from "./compare.ts";
import { attachments, claims, groups, snapshots } from "./objects.ts";
import { measure, measureDeletion } from "./phases.ts";
import { prepare, prepareLarge } from "./prepare.ts";
import { MOORING, type Side } from "./sides.ts";
import { LARGE, MEMBERS, SIZES, type Sizes } from "./sizes.ts";

/** Seconds after a start in a large cluster in which the control plane is at work, and MiB that it takes then. */
const LARGE_LIMITS = { started: 10, resident: 300 };

/** What was made goes in the reverse order. Members of groups go with these. */
async function deletions(cluster: BenchCluster): Promise<Measurement[]> {
  return [
    ...(await measureDeletion(cluster, {
      ...{ name: `deleted groups of ${MEMBERS}`, resource: VolumeGroupSnapshots },
      last: VolumeGroupSnapshotContents,
    })),
    ...(await measureDeletion(cluster, {
      ...{ name: "deleted snapshots", resource: VolumeSnapshots, last: VolumeSnapshotContents },
    })),
    ...(await measureDeletion(cluster, {
      ...{ name: "deleted attachments", resource: KubeVolumeAttachments, last: KubeVolumeAttachments },
    })),
    ...(await measureDeletion(cluster, {
      ...{ name: "deleted claims", resource: PersistentVolumeClaims, last: PersistentVolumes },
    })),
  ];
}

async function allBound(store: ObjectStore): Promise<void> {
  await eventually(
    "all claims to be bound",
    async () => (await store.list(PersistentVolumeClaims)).items.every(({ spec }) => spec?.volumeName),
    { everyMs: 1_000, withinMs: 600_000 },
  );
}

async function claimsAndAttachments(cluster: BenchCluster, sizes: Sizes): Promise<Measurement[]> {
  return [
    ...(await measure(cluster, {
      ...{ name: "claims", resource: PersistentVolumeClaims, objects: claims(sizes) },
      ...{ limit: 3, resident: 130, results: PersistentVolumes },
      // The binder's part is the bench's, which is slower than the control plane.
      doneBy: ({ spec }) => spec?.claimRef?.name,
      settled: allBound,
    })),
    ...(await measure(cluster, {
      ...{ name: "attachments", resource: KubeVolumeAttachments, limit: 3 },
      ...{ objects: await attachments(cluster.store), results: KubeVolumeAttachments },
      doneBy: ({ metadata, status }) => (status?.attached === true ? metadata.name : undefined),
    })),
  ];
}

/** What a control plane takes in a large cluster (see LARGE), beside the figures of a small one. */
export async function runLarge(bin: string, small: readonly Measurement[]): Promise<Measurement[]> {
  const there = `beside ${LARGE.volumes} volumes on ${LARGE.nodes} nodes`;
  process.stderr.write(`  mooring ${there}:\n`);
  const cluster = await startCluster(bin, MOORING, prepareLarge);
  try {
    const row = (what: string, unit: string, value: number, limit: number): Measurement => ({
      ...{ name: `${there}: ${what}`, unit, value, limit },
    });
    return [
      row("at work after", "s", cluster.started, LARGE_LIMITS.started),
      row("resident at first", "MiB", await cluster.resident(), LARGE_LIMITS.resident),
      ...compare(await claimsAndAttachments(cluster, SIZES), {
        ...{ theirs: small, baselineName: "mooring in a small cluster", most: IN_SMALL },
      }).map((measured) => ({ ...measured, name: `${there}: ${measured.name}` })),
    ];
  } finally {
    await cluster.end();
  }
}

export async function runSide(bin: string, side: Side, sizes: Sizes): Promise<Measurement[]> {
  process.stderr.write(`  ${side.name}:\n`);
  const cluster = await startCluster(bin, side, prepare);
  try {
    return [
      ...(await claimsAndAttachments(cluster, sizes)),
      ...(await measure(cluster, {
        ...{ name: "snapshots", resource: VolumeSnapshots, objects: snapshots(sizes), limit: 6 },
        results: VolumeSnapshots,
        doneBy: ({ metadata, status }) => (status?.readyToUse === true ? metadata.name : undefined),
      })),
      ...(await measure(cluster, {
        ...{ name: `groups of ${MEMBERS}`, resource: VolumeGroupSnapshots, objects: groups(sizes) },
        ...{ limit: 3 + 4 * MEMBERS, results: VolumeGroupSnapshots },
        doneBy: ({ metadata, status }) => (status?.readyToUse === true ? metadata.name : undefined),
      })),
      ...(await deletions(cluster)),
    ];
  } finally {
    await cluster.end();
  }
}
