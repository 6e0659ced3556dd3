import type { Capability } from "../../csi/capability.ts";
import type { SecretRef } from "../../secrets/references.ts";
import type { Requirement } from "../../topology/requirement.ts";

/** CreateVolumeRequest without its secrets, by CSI's names, in a form that survives JSON. */
export interface CreateVolumeArguments {
  name: string;
  /** A decimal number of bytes. */
  capacityRange: { requiredBytes: string };
  volumeCapabilities: Capability[];
  parameters: Record<string, string>;
  mutableParameters?: Record<string, string>;
  volumeContentSource?: { snapshotId: string } | { volumeId: string };
  accessibilityRequirements?: Requirement;
}

/** What the PersistentVolume will have apart from what the driver responds. */
interface VolumeTemplate {
  accessModes: string[];
  mountOptions?: string[];
  reclaimPolicy: string;
  storageClassName: string;
  volumeMode: string;
  fsType?: string;
  readOnly?: boolean;
  volumeAttributesClassName?: string;
  secretRefs: {
    controllerPublishSecretRef?: SecretRef;
    nodeStageSecretRef?: SecretRef;
    nodePublishSecretRef?: SecretRef;
    controllerExpandSecretRef?: SecretRef;
    nodeExpandSecretRef?: SecretRef;
  };
  modifySecret?: SecretRef;
}

/** The object that the new volume is a copy of; it must outlive the copying. */
export interface SourceRef {
  kind: "VolumeSnapshot" | "PersistentVolumeClaim";
  namespace: string;
  name: string;
  uid: string;
}

/**
 * Everything that provisioning one claim needs from now on. It is recorded before CreateVolume is called, so that
 * the same call can be repeated, and its volume found or removed, whatever becomes of the claim, its class, its
 * source, its node, or this process.
 */
export interface Intent {
  driver: string;
  claim: { namespace: string; name: string; uid: string };
  arguments: CreateVolumeArguments;
  secret?: SecretRef;
  source?: SourceRef;
  selectedNode?: string;
  volume: VolumeTemplate;
}
