import assert from "node:assert/strict";
import { test } from "node:test";
import { v1 } from "@mooring/csi";
import { chooseMode } from "@mooring/sidecars";
import type { PersistentVolume } from "@mooring/store";
import { volumeCapability } from "./capability.ts";

const MODES = ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"];

function volume(accessModes: string[]): PersistentVolume {
  return { apiVersion: "v1", kind: "PersistentVolume", metadata: { name: "pv" }, spec: { accessModes } };
}

const modeOf = (accessModes: string[], singleNodeMultiWriter: boolean) =>
  volumeCapability(volume(accessModes), { mountsGroup: false, singleNodeMultiWriter }).accessMode.mode;

test("the kubelet stages a volume in the mode that it was attached in, or not at all", () => {
  for (const fine of [false, true]) {
    for (let bits = 1; bits < 1 << MODES.length; bits++) {
      const modes = MODES.filter((_, index) => (bits & (1 << index)) !== 0);
      const attached = chooseMode(modes, fine);
      if ("error" in attached) {
        assert.throws(
          () => modeOf(modes, fine),
          new RegExp(`^Error: PersistentVolume pv: ${attached.error}$`),
        );
      } else {
        assert.equal(
          modeOf(modes, fine),
          v1.VolumeCapability_AccessMode_Mode[attached.mode],
          modes.join(", "),
        );
      }
    }
  }
});

test("ReadWriteOnce with ReadOnlyMany has no CSI mode: neither one writer nor many readers stands for both", () => {
  for (const modes of [
    ["ReadWriteOnce", "ReadOnlyMany"],
    ["ReadOnlyMany", "ReadWriteOnce"],
  ]) {
    assert.throws(
      () => modeOf(modes, true),
      /CSI has no access mode for ReadOnlyMany together with ReadWriteOnce/,
    );
  }
  assert.equal(modeOf(["ReadOnlyMany"], true), v1.VolumeCapability_AccessMode_Mode.MULTI_NODE_READER_ONLY);
  assert.equal(modeOf(["ReadWriteOnce"], false), v1.VolumeCapability_AccessMode_Mode.SINGLE_NODE_WRITER);
});
