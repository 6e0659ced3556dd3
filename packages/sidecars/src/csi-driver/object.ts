import type { CSIDriver } from "@mooring/store";
import type { DriverInfo } from "../csi/driver-info.ts";

/** What an operator declares about a driver; the rest is left to others. */
export type DeclaredCsiDriver = Partial<CSIDriver["spec"]>;

/** The CSIDriver object of a driver that has none: what is declared, and what follows from its capabilities. */
export function csiDriverFor({ can, name, topology }: DriverInfo, declared: DeclaredCsiDriver): CSIDriver {
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "CSIDriver",
    metadata: { name },
    spec: {
      attachRequired: can.has("PUBLISH_UNPUBLISH_VOLUME"),
      podInfoOnMount: false,
      volumeLifecycleModes: ["Persistent"],
      storageCapacity: can.has("GET_CAPACITY") && topology,
      fsGroupPolicy: "ReadWriteOnceWithFSType",
      requiresRepublish: false,
      ...declared,
    },
  };
}
