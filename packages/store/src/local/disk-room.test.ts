import assert from "node:assert/strict";
import { test } from "node:test";
import { diskFull, diskRoom } from "./disk-room.ts";

const MIB = 1024 ** 2;
const room = (freeBytes: number, reserveBytes: number) =>
  diskFull({ folder: "/var/lib/mooring/store", freeBytes, reserveBytes });

test("a disk is full before its end, and what is said of it names the folder, what is left and what to do", () => {
  assert.equal(room(32 * MIB, 32 * MIB), undefined);
  assert.equal(
    room(32 * MIB - 512 * 1024, 32 * MIB),
    "no space left on the disk of /var/lib/mooring/store: 31.5 MiB are free and 32 MiB have to stay free; make room there (df -h /var/lib/mooring/store), and writes go on by themselves",
  );
});

test("what has to stay free is at most 32 MiB, and of the disk that the folder is on", () => {
  const { folder, freeBytes, reserveBytes } = diskRoom(".");
  assert.equal(folder, ".");
  assert.ok(freeBytes > 0);
  assert.ok(reserveBytes > 0 && reserveBytes <= 32 * MIB);
});
