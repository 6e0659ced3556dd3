import assert from "node:assert/strict";
import { test } from "node:test";
import type { MountEntry } from "../../host/host.ts";
import { deviceShown, mapOptions } from "./kernel-rbd.ts";

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
