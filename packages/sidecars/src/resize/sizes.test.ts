import assert from "node:assert/strict";
import { test } from "node:test";
import { type Sizes, targetSize } from "./sizes.ts";

type Row = [
  title: string,
  /** requested, granted, volume, allocated. */
  sizes: [number, number, number, number?],
  status: Sizes["status"],
  target: number | undefined,
  flags?: { refused?: boolean; nodeOnly?: boolean; pending?: boolean },
];

const rows: Row[] = [
  ["a new wish", [3, 1, 1], "", 3],
  ["a running expansion is finished before a newer wish", [5, 1, 1, 3], "ControllerResizeInProgress", 3],
  [
    "... unless the driver refused it for certain",
    [2, 1, 1, 3],
    "ControllerResizeInProgress",
    2,
    { refused: true },
  ],
  ["an infeasible size is left for what is wished now", [2, 1, 1, 9], "ControllerResizeInfeasible", 2],
  ["the node has to finish first", [5, 1, 3, 3], "NodeResizePending", undefined],
  ["the node is at it", [5, 1, 3, 3], "NodeResizeInProgress", undefined],
  ["the node could not: the same size again", [5, 1, 3, 3], "NodeResizeInfeasible", 3],
  ["pending on the node, but the volume was never expanded", [5, 1, 1, 3], "NodeResizePending", 3],
  ["the volume is large enough: the file system is next", [3, 1, 3, 3], "ControllerResizeInProgress", 3],
  ["lowered after infeasible, volume large enough", [2, 1, 3, 3], "ControllerResizeInfeasible", 3],
  ["node could not, driver expands itself", [3, 1, 3, 3], "NodeResizeInfeasible", 3],
  ["node could not, node only", [4, 1, 4, 3], "NodeResizeInfeasible", 4, { nodeOnly: true }],
  ["the volume was larger from the start", [3, 1, 4], "", 3],
  ["an older cluster's file system resize is pending", [3, 1, 3], "", undefined, { pending: true }],
];

for (const [title, [requested, granted, volume, allocated], status, target, flags = {}] of rows) {
  test(`expansion target: ${title}`, () => {
    const sizes: Sizes = {
      requested: BigInt(requested),
      granted: BigInt(granted),
      volume: BigInt(volume),
      allocated: allocated === undefined ? undefined : BigInt(allocated),
      status,
      fileSystemPending: flags.pending ?? false,
    };
    const expected = target === undefined ? undefined : BigInt(target);
    assert.equal(targetSize(sizes, flags.refused ?? false, !flags.nodeOnly), expected);
  });
}
