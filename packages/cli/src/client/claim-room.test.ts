import assert from "node:assert/strict";
import { test } from "node:test";
import { fullIn } from "./claim-room.ts";

const scrape = (claim: string, amounts: Record<string, number>): string =>
  Object.entries(amounts)
    .map(
      ([name, value]) =>
        `kubelet_volume_stats_${name}{namespace="shop",persistentvolumeclaim="${claim}",node="a"} ${value}\n`,
    )
    .join("");

test("claims without a byte or an inode left are full, others and raw ones are not", () => {
  const metrics = [
    "# HELP kubelet_volume_stats_used_bytes Number of used bytes in the volume\n",
    scrape("bytes", { used_bytes: 9_990, available_bytes: 10, inodes: 100, inodes_free: 50 }),
    scrape("inodes", { used_bytes: 10, available_bytes: 9_990, inodes: 100, inodes_free: 0 }),
    scrape("room", { used_bytes: 9_800, available_bytes: 200, inodes: 100, inodes_free: 50 }),
    // btrfs has no number of inodes.
    scrape("btrfs", { used_bytes: 10, available_bytes: 90, inodes: 0, inodes_free: 0 }),
    scrape("raw", { capacity_bytes: 1_000 }),
  ].join("");
  assert.deepEqual(
    fullIn(metrics).map(({ namespace, claim, why }) => [`${namespace}/${claim}`, why]),
    [
      ["shop/bytes", "its file system is full"],
      ["shop/inodes", "its file system is full: it has no inode left for another file"],
    ],
  );
});
