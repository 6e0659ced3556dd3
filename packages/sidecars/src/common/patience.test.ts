import assert from "node:assert/strict";
import { test } from "node:test";
import { AskedDriver, patienceLeft } from "./patience.ts";

const CREATED = Date.parse("2026-01-01T00:00:00Z");
const content = {
  ...{ apiVersion: "snapshot.storage.k8s.io/v1", kind: "VolumeSnapshotContent" },
  metadata: { name: "content", uid: "u", creationTimestamp: "2026-01-01T00:00:00Z" },
};

/** What is left so many seconds after the content was made. */
const left = (seconds: number, asked?: AskedDriver) => patienceLeft(CREATED + 1000 * seconds, content, asked);

test("a driver that another program asks is slow two seconds after the content was made", () => {
  assert.deepEqual(
    [0, 1.5, 2, 60].map((seconds) => left(seconds)),
    [2_000, 500, 0, 0],
  );
});

test("a driver that has not been asked yet is not slow, but what waits for it is said after ten seconds", () => {
  const asked = new AskedDriver();
  assert.deepEqual(
    [0, 2, 5, 9.5, 10, 60].map((seconds) => left(seconds, asked)),
    [2_000, 2_000, 2_000, 500, 0, 0],
  );
});

test("a driver is slow two seconds after it was asked first, however late that was", () => {
  const asked = new AskedDriver();
  asked.ask("u", CREATED + 5_000);
  asked.ask("u", CREATED + 6_500);
  assert.deepEqual(
    [5, 6.5, 7, 60].map((seconds) => left(seconds, asked)),
    [2_000, 500, 0, 0],
  );
  asked.forget("u");
  assert.equal(left(6, asked), 2_000);
});

test("a clock that is behind that of the server makes no driver slow or patient", () => {
  assert.equal(left(-1), 0);
  assert.equal(left(-1, new AskedDriver()), 0);
});
