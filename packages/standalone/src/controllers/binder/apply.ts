import {
  defined,
  type EventRecorder,
  type ObjectStore,
  type PersistentVolume,
  type PersistentVolumeClaim,
  PersistentVolumeClaims,
  PersistentVolumes,
  type WrittenCache,
} from "@mooring/store";
import type { ClaimStep } from "./decide-claim.ts";
import type { VolumeStep } from "./decide-volume.ts";
import * as names from "./names.ts";
import type { Reports } from "./reports.ts";
import { annotated, reserved } from "./reserve.ts";

/** What the binder's steps are made with. */
export interface BinderEffects {
  store: ObjectStore;
  events: EventRecorder;
  volumes: WrittenCache<PersistentVolume>;
  reports: Reports;
}

/** Changes one object, and only if no other client did since it was read. */
export async function applyClaimStep(
  { store, events, volumes, reports }: BinderEffects,
  claim: PersistentVolumeClaim,
  step: ClaimStep,
): Promise<void> {
  if ("notice" in step && step.notice !== undefined) {
    const { type, reason, message } = step.notice;
    events.event(claim, type, reason, message);
  }
  switch (step.do) {
    case "report":
      return reports.note(claim, step.notice);
    case "set-class":
      await store.update(PersistentVolumeClaims, {
        ...claim,
        spec: { ...claim.spec, storageClassName: step.name },
      });
      break;
    case "reserve":
      volumes.wrote(await store.update(PersistentVolumes, reserved(step.volume, claim)));
      break;
    case "mark-volume-bound":
      volumes.wrote(await store.updateStatus(PersistentVolumes, withPhase(step.volume, "Bound")));
      break;
    case "bind-claim":
      await store.update(PersistentVolumeClaims, bound(claim, step.volume));
      break;
    case "set-bound-status":
      await store.updateStatus(PersistentVolumeClaims, withBoundStatus(claim, step.volume));
      break;
    case "request-provisioning":
      await store.update(
        PersistentVolumeClaims,
        annotated(claim, {
          [names.STORAGE_PROVISIONER]: step.provisioner,
          [names.BETA_STORAGE_PROVISIONER]: step.provisioner,
        }),
      );
      break;
    case "set-phase":
      await store.updateStatus(PersistentVolumeClaims, {
        ...claim,
        status: { ...claim.status, phase: step.phase },
      });
      break;
  }
}

/** Makes one visible change of a volume. */
export async function applyVolumeStep(
  { store, volumes }: BinderEffects,
  volume: PersistentVolume,
  step: VolumeStep,
): Promise<void> {
  switch (step.do) {
    case "set-phase":
      volumes.wrote(await store.updateStatus(PersistentVolumes, withPhase(volume, step.phase)));
      break;
    case "unreserve":
      volumes.wrote(await store.update(PersistentVolumes, unreserved(volume)));
      break;
    case "reset-reservation":
      volumes.wrote(await store.update(PersistentVolumes, withoutUID(volume)));
      break;
  }
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
