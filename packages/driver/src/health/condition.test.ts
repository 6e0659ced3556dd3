import assert from "node:assert/strict";
import { test } from "node:test";
import { MOORING_API_VERSION, type Pool, type Volume } from "@mooring/engine";
import { conditionResponse } from "./condition.ts";

const apiVersion = MOORING_API_VERSION;
const lastTransitionTime = "2026-01-01T00:00:00Z";
const on = (type: string, reason: string, status: "True" | "False" = "True", message = "why") => ({
  ...{ type, status, reason, message, lastTransitionTime },
});

interface Changes {
  conditions?: ReturnType<typeof on>[];
  ready?: boolean;
  spec?: Partial<Pool["spec"]>;
  name?: string;
}

const pool = ({ conditions = [], ready = true, spec, name = "default" }: Changes = {}): Pool => ({
  ...{ apiVersion, kind: "Pool", metadata: { name } },
  spec: { type: "xfs", nodeID: "n", path: "/p", ...spec },
  status: { ready, totalBytes: 1000, freeBytes: 0, promisedBytes: 0, conditions },
});

const volume = (spec: Partial<Volume["spec"]> = {}, status: Partial<Volume["status"]> = {}): Volume => ({
  ...{ apiVersion, kind: "Volume", metadata: { name: "v-1" } },
  spec: { size: 4096, pool: "default", volumeMode: "Filesystem", accessMode: "rwo", ...spec },
  status: { state: "attached", size: 4096, ...status },
});

const FILLING = on("SpaceLow", "FillingUp");
const ALMOST = on("SpaceLow", "AlmostFull");
const FAIL = on("WritesFail", "PoolFull");
const HELD = on("WritersHeld", "PoolFull");
const THICK = { provisioningType: "thick" } as const;
const RBD = { conf: "/etc/ceph/ceph.conf", user: "mooring", pool: "images" };

const CASES: readonly [what: string, volume: Volume, pool: Pool | undefined, message: string][] = [
  [
    "85 %",
    volume(),
    pool({ conditions: [FILLING] }),
    "85 % of the pool is used; delete claims or snapshots, or enlarge it (pool default)",
  ],
  [
    "95 %",
    volume(),
    pool({ conditions: [ALMOST] }),
    "95 % of the pool is used; delete claims or snapshots, or enlarge it (pool default)",
  ],
  [
    "full",
    volume(),
    pool({ conditions: [ALMOST, FAIL] }),
    "nothing is left in the pool: writes fail; delete claims or snapshots, or enlarge it (pool default)",
  ],
  [
    "writers wait",
    volume(),
    pool({ conditions: [ALMOST, HELD] }),
    "the pool is full: writes wait; delete claims or snapshots, or enlarge it (pool default)",
  ],
  [
    "writers of a thick volume wait",
    volume(THICK),
    pool({ conditions: [ALMOST, HELD] }),
    "the pool is full: writes wait; delete claims or snapshots, or enlarge it (pool default)",
  ],
  [
    "a full Ceph pool",
    volume(),
    pool({ conditions: [HELD], spec: { type: "rbd", rbd: RBD } }),
    "the pool is full: writes wait; delete claims or snapshots, or raise its quota (pool default)",
  ],
  [
    "one in a namespace",
    volume(),
    pool({ conditions: [HELD], spec: { type: "rbd", rbd: { ...RBD, namespace: "a" } } }),
    "the pool is full: writes wait; raise its quota, then delete claims (pool default)",
  ],
  [
    "a failed file system",
    volume(),
    pool({ ready: false, conditions: [on("Ready", "FilesystemFailed", "False")] }),
    "the pool's file system has failed: writes fail; end the pods that use its volumes (pool default)",
  ],
];

for (const [what, given, its, message] of CASES)
  test(`${what}: the condition has the cause and the next step, whole`, () => {
    assert.deepEqual(conditionResponse(given, its), { abnormal: true, message });
  });

test("no message is longer than a response may have it with a pool's name of 24 characters", () => {
  for (const [what, given, its] of CASES) {
    const named = its && { ...its, metadata: { name: "p".repeat(24) } };
    const { message } = conditionResponse(given, named);
    assert.match(message, /\(pool p{24}\)$/, what);
    assert.ok(Buffer.byteLength(message) <= 128, what);
  }
});

test("nothing of its pool hits a volume that has its room, or one in a folder of a disk, or one whose pool is being opened", () => {
  const well = { abnormal: false, message: "the volume is attached" };
  assert.deepEqual(conditionResponse(volume(THICK), pool({ conditions: [ALMOST, FAIL] })), well);
  const folder = pool({ conditions: [ALMOST], spec: { type: "directory" } });
  assert.deepEqual(conditionResponse(volume(), folder), well);
  assert.deepEqual(conditionResponse(volume(), pool({ ready: false })), well);
  assert.deepEqual(conditionResponse(volume(), pool()), well);
  assert.deepEqual(conditionResponse(volume(), undefined), well);
});

test("a pool that stops writes comes before what fails because of it, and after what does not", () => {
  const error = { code: "INTERNAL", message: "broken", at: lastTransitionTime };
  const [full, low] = [pool({ conditions: [ALMOST, FAIL] }), pool({ conditions: [ALMOST] })];
  const failed = volume({}, { error } as never);
  assert.match(conditionResponse(failed, full).message, /^nothing is left/);
  assert.equal(conditionResponse(failed, low).message, "INTERNAL: broken");
  const because = (cause: string) =>
    volume({}, { robustness: "faulted", salvage: { cause, message: "bad" } } as never);
  assert.match(conditionResponse(because("filesystem"), full).message, /^nothing is left/);
  assert.equal(conditionResponse(because("filesystem"), low).message, "DATA_LOSS: bad");
  assert.equal(conditionResponse(because("image-lost"), full).message, "DATA_LOSS: bad");
});

test("a volume whose writes have failed says so when there is room again", () => {
  const past = on("WritesFail", "RoomLeft", "False", "from then on writes failed");
  assert.deepEqual(conditionResponse(volume({}, { conditions: [past] }), pool()), {
    abnormal: false,
    message:
      "there is room again; writes failed before 2026-01-01T00:00:00Z: what was not synced may be lost",
  });
});
