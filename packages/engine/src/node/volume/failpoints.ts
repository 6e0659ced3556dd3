import { type Outcome, stepFailpoints } from "@mooring/store";
import type { VolumeStep } from "./view.ts";

/** Passed behind every step of a volume, and where a device is opened while another step is under way. */
export const failpoints = stepFailpoints<Exclude<VolumeStep, Outcome>>("engine/volume", {
  "take-lease": true,
  "guard-device": true,
  "renew-image": true,
  "drop-device": true,
  "add-finalizer": true,
  "remove-finalizer": true,
  record: {
    creating: true,
    created: true,
    attaching: true,
    attached: true,
    "device-lost": true,
    detaching: true,
    detached: true,
    deleting: true,
    faulted: true,
    recovered: true,
    size: true,
    settled: true,
    released: true,
  },
  "create-image": true,
  "grow-image": true,
  "open-device": true,
  "refresh-device": true,
  "hide-device": true,
  "close-device": true,
  "remove-image": true,
  "restore-image": true,
  repair: true,
  "grow-filesystem": true,
});
