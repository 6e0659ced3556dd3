/**
 * What the CSIDriver object of this driver has beyond its capabilities. `File`: our volumes carry ordinary file systems, so a
 * pod's fsGroup always applies. Kubernetes' default needs the file system in the PersistentVolume, and there it is absent where
 * the class leaves the choice to the driver: pods that are not root could then not write.
 */
export const CSI_DRIVER_SPEC = { fsGroupPolicy: "File" } as const;
