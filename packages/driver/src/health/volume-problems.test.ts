import assert from "node:assert/strict";
import { test } from "node:test";
import { v1 } from "@mooring/csi";
import {
  MOORING_API_VERSION,
  type NodeAgent,
  type Pool,
  type Volume,
  type VolumeStatus,
} from "@mooring/engine";
import { covers } from "@mooring/store/testing";
import { volumeHealth } from "./response.ts";
import { shortText } from "./short-text.ts";
import { neededNode, volumeProblems } from "./volume-problems.ts";

const { VolumeHealthErrorType: Status } = v1;

const apiVersion = MOORING_API_VERSION;
const volume = (status: Partial<VolumeStatus> = {}): Volume => ({
  ...{ apiVersion, kind: "Volume" },
  metadata: { name: "v-1" },
  spec: { size: 4096, pool: "p", volumeMode: "Filesystem", accessMode: "rwo" },
  status: { state: "detached", size: 4096, ...status },
});
const pool = (status: Partial<NonNullable<Pool["status"]>> = {}): Pool => ({
  ...{ apiVersion, kind: "Pool" },
  metadata: { name: "p" },
  spec: { type: "xfs", nodeID: "n", path: "/p" },
  status: { ready: true, totalBytes: 1000, freeBytes: 500, promisedBytes: 0, ...status },
});
const node = (state: NonNullable<NodeAgent["status"]>["state"]): NodeAgent => ({
  ...{ apiVersion, kind: "NodeAgent" },
  metadata: { name: "n" },
  spec: {},
  status: { state },
});
const salvage = { faultedAt: "2026-01-01T00:00:00.000Z", message: "bad", state: "Lost" } as const;
const notReady = {
  ready: false,
  conditions: [
    { type: "Ready", status: "False", reason: "x", message: "no such folder", lastTransitionTime: "" },
  ] as never,
};

const writersHeld = [
  { type: "WritersHeld", status: "True", reason: "PoolFull", message: "full", lastTransitionTime: "" },
] as never;
const writesFail = [
  { type: "WritesFail", status: "True", reason: "PoolFull", message: "full", lastTransitionTime: "" },
] as never;

const CASES: readonly [string, Parameters<typeof volumeProblems>[0], [number, string][]][] = [
  ["all is well", { volume: volume(), pool: pool(), node: node("Ready") }, []],
  [
    "the image is gone",
    {
      volume: volume({ robustness: "faulted", salvage: { ...salvage, cause: "image-lost" } }),
      pool: pool(),
      node: node("Ready"),
    },
    [[Status.DATA_LOSS, "ImageLost"]],
  ],
  [
    "the image is truncated",
    {
      volume: volume({ robustness: "faulted", salvage: { ...salvage, cause: "image-cut" } }),
      pool: pool(),
      node: undefined,
    },
    [[Status.DATA_LOSS, "ImageCut"]],
  ],
  [
    "the file system has failed, and so has its pool",
    {
      volume: volume({ robustness: "faulted", salvage: { ...salvage, cause: "filesystem" } }),
      pool: pool(notReady),
      node: undefined,
    },
    [
      [Status.INACCESSIBLE, "FilesystemFailed"],
      [Status.INACCESSIBLE, "PoolNotReady"],
    ],
  ],
  [
    "repaired, with a loss that somebody consented to",
    {
      volume: volume({ salvage: { ...salvage, cause: "image-cut", state: "Repaired", dataLoss: true } }),
      pool: pool(),
      node: undefined,
    },
    [[Status.DATA_LOSS, "RepairedWithLoss"]],
  ],
  [
    "restored from a snapshot after such a repair",
    {
      volume: volume({
        salvage: {
          ...salvage,
          cause: "image-cut",
          state: "Repaired",
          dataLoss: true,
          finishedAt: "2026-01-02",
        },
        restore: { snapshot: "s-1", state: "Restored", finishedAt: "2026-01-03" },
      }),
      pool: pool(),
      node: undefined,
    },
    [],
  ],
  [
    "some have it mounted as it was before it moved",
    { volume: volume({ remountRequestedAt: "2026-01-02" }), pool: pool(), node: undefined },
    [[Status.DEGRADED, "RemountRequested"]],
  ],
  [
    "some have it mounted as it was before a fault that is not repaired",
    {
      volume: volume({
        ...{ robustness: "faulted", remountRequestedAt: "2026-01-02" },
        salvage: { ...salvage, cause: "filesystem" },
      }),
      pool: pool(),
      node: undefined,
    },
    [[Status.INACCESSIBLE, "FilesystemFailed"]],
  ],
  [
    "the last operation failed",
    {
      volume: volume({ error: { code: "RESOURCE_EXHAUSTED", message: "full" } }),
      pool: pool(),
      node: undefined,
    },
    [[Status.DEGRADED, "LastOperationFailed"]],
  ],
  [
    "the pool's object is gone",
    { volume: volume(), pool: undefined, node: undefined },
    [[2, "PoolNotReady"]],
  ],
  [
    "the pool is nearly full, its node silent",
    { volume: volume(), pool: pool({ freeBytes: 50 }), node: node("Suspect") },
    [
      [Status.DEGRADED, "PoolBelowReserve"],
      [Status.DEGRADED, "NodeSuspect"],
    ],
  ],
  [
    "the pool is full and holds its writers",
    { volume: volume(), pool: pool({ freeBytes: 50, conditions: writersHeld }), node: node("Ready") },
    [[Status.DEGRADED, "WritersHeld"]],
  ],
  [
    "nothing is left in its pool",
    { volume: volume(), pool: pool({ freeBytes: 0, conditions: writesFail }), node: node("Ready") },
    [[Status.DATA_LOSS, "WritesFail"]],
  ],
  ["the node is fenced", { volume: volume(), pool: pool(), node: node("Fenced") }, [[2, "NodeFenced"]]],
  ["the node is gone", { volume: volume(), pool: pool(), node: node("Gone") }, [[2, "NodeGone"]]],
];
for (const [what, view, expected] of CASES) {
  test(`health of a volume: ${what}`, () => {
    const found = volumeProblems(view).map(({ status, reason }) => [status, reason]);
    assert.deepEqual(found, expected);
  });
}

test("a volume of a shared pool needs the node that has it open, and none while it is closed", () => {
  const shared: Pool = { ...pool(), spec: { type: "xfs", mode: "shared", path: "/p" } };
  assert.equal(neededNode(volume({ currentNodeID: "n2" }), shared), "n2");
  assert.equal(neededNode(volume(), shared), undefined);
  assert.equal(neededNode(volume(), pool()), "n");
});

test("one entry per status and reason, with the first message", () => {
  const problem = (reason: string, message: string) => ({ status: Status.DEGRADED, reason, message });
  const { healthStatuses } = volumeHealth("v-1", [
    problem("A", "one"),
    problem("A", "two"),
    problem("B", ""),
  ]);
  assert.deepEqual(healthStatuses, [problem("A", "one"), problem("B", "")]);
});

test("texts in responses have at most 128 bytes, and no half characters", () => {
  covers("CSI-021");
  assert.equal(shortText("short"), "short");
  assert.equal(shortText("x".repeat(128)), "x".repeat(128));
  const text = shortText("\u00e9".repeat(65));
  assert.ok(Buffer.byteLength(text) <= 128);
  assert.match(text, /^\u00e9+\.\.\.$/);
});
