import {
  defined,
  failpoint,
  type ObjectStore,
  type PersistentVolume,
  type PersistentVolumeClaim,
  PersistentVolumeClaims,
  PersistentVolumes,
} from "@mooring/store";
import type { ClaimStep } from "./decide-claim.ts";
import type { VolumeStep } from "./decide-volume.ts";
import * as names from "./names.ts";
import { annotated, reserved } from "./reserve.ts";

const passed = {
  setClass: failpoint("standalone/binder/class-set"),
  reserve: failpoint("standalone/binder/volume-reserved"),
  markVolumeBound: failpoint("standalone/binder/volume-marked-bound"),
  bindClaim: failpoint("standalone/binder/claim-bound"),
  setBoundStatus: failpoint("standalone/binder/claim-status-bound"),
  requestProvisioning: failpoint("standalone/binder/provisioning-requested"),
  setPhase: failpoint("standalone/binder/phase-set"),
  unreserve: failpoint("standalone/binder/volume-unreserved"),
  resetReservation: failpoint("standalone/binder/reservation-reset"),
};

/** Changes one object, and only if nobody else did since it was read. Resolves with the volume if that was it. */
export async function applyClaimStep(
  store: ObjectStore,
  claim: PersistentVolumeClaim,
  step: Exclude<ClaimStep, { do: "wait" }>,
): Promise<PersistentVolume | undefined> {
  let volume: PersistentVolume | undefined;
  switch (step.do) {
    case "setClass":
      await store.update(PersistentVolumeClaims, {
        ...claim,
        spec: { ...claim.spec, storageClassName: step.name },
      });
      break;
    case "reserve":
      volume = await store.update(PersistentVolumes, reserved(step.volume, claim));
      break;
    case "markVolumeBound":
      volume = await store.updateStatus(PersistentVolumes, withPhase(step.volume, "Bound"));
      break;
    case "bindClaim":
      await store.update(PersistentVolumeClaims, bound(claim, step.volume));
      break;
    case "setBoundStatus":
      await store.updateStatus(PersistentVolumeClaims, withBoundStatus(claim, step.volume));
      break;
    case "requestProvisioning":
      await store.update(
        PersistentVolumeClaims,
        annotated(claim, {
          [names.STORAGE_PROVISIONER]: step.provisioner,
          [names.BETA_STORAGE_PROVISIONER]: step.provisioner,
        }),
      );
      break;
    case "setPhase":
      await store.updateStatus(PersistentVolumeClaims, {
        ...claim,
        status: { ...claim.status, phase: step.phase },
      });
      break;
  }
  passed[step.do]();
  return volume;
}

export async function applyVolumeStep(
  store: ObjectStore,
  volume: PersistentVolume,
  step: Exclude<VolumeStep, { do: "wait" }>,
): Promise<void> {
  switch (step.do) {
    case "setPhase":
      await store.updateStatus(PersistentVolumes, withPhase(volume, step.phase));
      break;
    case "unreserve":
      await store.update(PersistentVolumes, unreserved(volume));
      break;
    case "resetReservation":
      await store.update(PersistentVolumes, withoutUID(volume));
      break;
  }
  passed[step.do]();
}

function unreserved(volume: PersistentVolume): PersistentVolume {
  const { claimRef: _, ...spec } = volume.spec ?? {};
  const { [names.BOUND_BY_CONTROLLER]: __, ...annotations } = volume.metadata.annotations ?? {};
  return { ...volume, spec, metadata: { ...volume.metadata, annotations } };
}

function withoutUID(volume: PersistentVolume): PersistentVolume {
  const { uid: _, resourceVersion: __, ...claimRef } = volume.spec?.claimRef ?? {};
  return { ...volume, spec: { ...volume.spec, claimRef } };
}

function withPhase(volume: PersistentVolume, phase: string): PersistentVolume {
  return { ...volume, status: { ...volume.status, phase } };
}

function bound(claim: PersistentVolumeClaim, volume: PersistentVolume): PersistentVolumeClaim {
  const byController = claim.spec?.volumeName ? {} : { [names.BOUND_BY_CONTROLLER]: "yes" };
  const next = { ...claim, spec: { ...claim.spec, volumeName: volume.metadata.name } };
  return annotated(next, { [names.BIND_COMPLETED]: "yes", ...byController });
}

/** The capacity is taken over once; from then on it is the resizer's and the kubelet's. */
function withBoundStatus(claim: PersistentVolumeClaim, volume: PersistentVolume): PersistentVolumeClaim {
  const { accessModes, capacity } = volume.spec ?? {};
  const status = {
    ...claim.status,
    phase: "Bound",
    ...defined({ accessModes, capacity }),
  };
  return { ...claim, status };
}
