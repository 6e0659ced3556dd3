import { createHash } from "node:crypto";
import type { CSIDriver, PersistentVolume, Pod } from "@mooring/store";
import { defined } from "@mooring/store";
import { uniqueVolumeName } from "../../controllers/attach-detach/names.ts";
import type { CsiVolume, PodVolume } from "./csi-volume.ts";

/** A volume that a driver makes for this pod alone; undefined when it is of another type. */
export function traceInline({ metadata }: Pod, { name, csi }: PodVolume): CsiVolume | undefined {
  if (csi === undefined) return undefined;
  const { driver, readOnly = false } = csi;
  const handle = handleOf(metadata.uid ?? "", name);
  return {
    ...{ key: uniqueVolumeName(driver, handle), name, driver, handle, volume: name },
    ...{ claim: "", block: false, readOnly, ephemeral: true },
  };
}

/** As upstream's kubelet makes it, so that a driver knows the volume again under either kubelet. */
function handleOf(podUID: string, name: string): string {
  return `csi-${createHash("sha256").update(`${podUID}${name}`).digest("hex")}`;
}

/** The PersistentVolume that it has none of: what the driver is called with is read from one. */
export function inlineVolume(pod: Pod, name: string): PersistentVolume {
  const { csi } = (pod.spec?.volumes ?? []).find((each) => each.name === name) ?? {};
  if (csi === undefined) throw new Error(`volume "${name}" is not one of the pod's spec any more`);
  const { driver, fsType, nodePublishSecretRef, volumeAttributes } = csi;
  const { namespace = "", uid = "" } = pod.metadata;
  // A reference without namespace: the pod's owner chooses among the secrets that it has.
  const secret = nodePublishSecretRef && { ...nodePublishSecretRef, namespace };
  return {
    ...{ apiVersion: "v1", kind: "PersistentVolume", metadata: { name } },
    spec: {
      ...{ accessModes: ["ReadWriteOnce"], volumeMode: "Filesystem" as const },
      csi: {
        ...{ driver, volumeHandle: handleOf(uid, name) },
        ...defined({ fsType, volumeAttributes, nodePublishSecretRef: secret }),
      },
    },
  };
}

/** Throws when the driver does not say that it makes volumes for pods. */
export function requireEphemeral(name: string, driver: CSIDriver | undefined): void {
  const modes = driver?.spec?.volumeLifecycleModes ?? ["Persistent"];
  if (modes.includes("Ephemeral")) return;
  const only = `its CSIDriver object has volumeLifecycleModes ${modes.join(", ")}`;
  throw new Error(
    `driver ${name} makes no volumes for a pod alone (${only}): use a persistentVolumeClaim or an ephemeral volume`,
  );
}
