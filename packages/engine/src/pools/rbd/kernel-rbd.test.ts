import assert from "node:assert/strict";
import { test } from "node:test";
import type { MountEntry } from "../../host/host.ts";
import { deviceShown, kernelWay, mapOptions } from "./kernel-rbd.ts";

const shown = (root: string): ReturnType<typeof deviceShown> =>
  deviceShown({ root, fsType: "devtmpfs", target: "/images/v.img" } as MountEntry);

test("each image has a client of its own, by the newest protocol that the kernel knows", () => {
  assert.equal(mapOptions("6.1.0-18-amd64"), "noudev,noshare,ms_mode=prefer-crc");
  assert.equal(mapOptions("5.11.0"), "noudev,noshare,ms_mode=prefer-crc");
  assert.equal(mapOptions("5.10.0-28-amd64"), "noudev,noshare");
  assert.equal(mapOptions("4.19.0"), "noudev,noshare");
});

test("a path shows a device, also one that is gone, or something else", () => {
  assert.deepEqual(shown("/rbd3"), { id: "3", gone: false });
  // As mountinfo has it of a device node that was removed.
  assert.deepEqual(shown("/rbd12//deleted"), { id: "12", gone: true });
  assert.equal(shown("/"), undefined);
  assert.equal(shown("/images/rbd3.img"), undefined);
});

test("a kernel opens images whose features it knows, and what it does not know has a name", () => {
  const all = ["layering", "exclusive-lock", "object-map", "fast-diff", "deep-flatten"];
  const least = ["layering", "exclusive-lock"];
  // Linux 6.1 and 4.19.
  const [today, old] = [0x1bf, 0x187];
  assert.deepEqual(kernelWay(today, all), { usable: true, why: "the kernel has rbd" });
  assert.equal(kernelWay(old, least).usable, true);
  assert.deepEqual(kernelWay(old, all), {
    usable: false,
    why: "the kernel's rbd does not know object-map, fast-diff, deep-flatten",
  });
  assert.match(kernelWay(today, [...all, "journaling"]).why, /does not know journaling$/);
  assert.match(kernelWay(today, [...all, "of-tomorrow"]).why, /does not know of-tomorrow$/);
  assert.deepEqual(kernelWay(undefined, least), { usable: false, why: "the kernel has no rbd" });
});
