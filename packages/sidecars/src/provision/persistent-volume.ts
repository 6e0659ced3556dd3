import { defined, formatQuantity, type PersistentVolume } from "@mooring/store";
import type { Intent } from "../common/create-volume/intent.ts";
import {
  attacherFinalizer,
  DELETION_SECRET_NAME,
  DELETION_SECRET_NAMESPACE,
  MODIFY_SECRET_NAME,
  MODIFY_SECRET_NAMESPACE,
  PROVISIONED_BY,
  PROVISIONER_IDENTITY,
  PV_FINALIZER,
} from "../common/names.ts";
import { nodeAffinity } from "../topology/terms.ts";
import type { CreatedVolume } from "./decide.ts";

interface Maker {
  /** Of the process that provisions. */
  identity: string;
  /** An attacher beside it would add its finalizer before the first attachment: the volume is born with it. */
  attaches: boolean;
}

/**
 * The object for a volume that the driver made. It is born with its finalizer, so that there is no moment in which
 * it could be deleted without its data, and with the deletion secret, so that it outlives its class.
 */
export function persistentVolumeFor(
  intent: Intent,
  made: CreatedVolume,
  { identity, attaches }: Maker,
): PersistentVolume {
  const { volume: template, secret } = intent;
  const affinity = nodeAffinity(made.accessibleTopology);
  const bytes =
    made.capacityBytes === "0" ? intent.arguments.capacityRange.requiredBytes : made.capacityBytes;
  const { modifySecret } = template;
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: {
      name: intent.arguments.name,
      finalizers: [PV_FINALIZER, ...(attaches ? [attacherFinalizer(intent.driver)] : [])],
      annotations: {
        [PROVISIONED_BY]: intent.driver,
        [DELETION_SECRET_NAME]: secret?.name ?? "",
        [DELETION_SECRET_NAMESPACE]: secret?.namespace ?? "",
        ...(modifySecret === undefined
          ? {}
          : {
              [MODIFY_SECRET_NAME]: modifySecret.name,
              [MODIFY_SECRET_NAMESPACE]: modifySecret.namespace,
            }),
      },
    },
    spec: {
      accessModes: template.accessModes,
      capacity: { storage: formatQuantity(BigInt(bytes)) },
      claimRef: { apiVersion: "v1", kind: "PersistentVolumeClaim", ...intent.claim },
      csi: {
        driver: intent.driver,
        volumeHandle: made.handle,
        volumeAttributes: { ...made.attributes, [PROVISIONER_IDENTITY]: identity },
        ...defined({ fsType: template.fsType, readOnly: template.readOnly }),
        ...template.secretRefs,
      },
      ...defined({ mountOptions: template.mountOptions, nodeAffinity: affinity }),
      persistentVolumeReclaimPolicy: template.reclaimPolicy,
      storageClassName: template.storageClassName,
      ...defined({ volumeAttributesClassName: template.volumeAttributesClassName }),
      volumeMode: template.volumeMode,
    },
  };
}
