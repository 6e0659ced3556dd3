import { createHash } from "node:crypto";
import { join } from "node:path";

/** Where a kubelet keeps things, as CSI drivers and operators know it. */
export interface KubeletPaths {
  readonly root: string;
  pods: string;
  /** Where drivers put the sockets by which they register. */
  registry: string;
  /** Which of them have. */
  registered: string;
  pod(uid: string): string;
  /** `kubernetes.io~empty-dir` and the like. */
  localVolume(uid: string, plugin: string, name: string): string;
  /** Folder of one volume of one pod; contains `vol_data.json` and, for a file system, `mount`. */
  publication(uid: string, volume: string): string;
  /** Target of NodePublishVolume. */
  publishTarget(uid: string, volume: string, block: boolean): string;
  /** Of all drivers, a folder each. */
  csiVolumes: string;
  /** Folder of one staged volume; contains `vol_data.json` and, for a file system, `globalmount`. */
  csiVolume(driver: string, handle: string): string;
  /** Target of NodeStageVolume. */
  stageTarget(driver: string, handle: string, volume: string, block: boolean): string;
}

/** Where the kubelet keeps what, as upstream does; `root` is absolute. */
export function kubeletPaths(root: string): KubeletPaths {
  const pods = join(root, "pods");
  const csiVolumes = join(root, "plugins/kubernetes.io/csi");
  const blocks = join(csiVolumes, "volumeDevices");
  const pod = (uid: string) => join(pods, uid);
  const publication = (uid: string, volume: string) => join(pod(uid), "volumes/kubernetes.io~csi", volume);
  const csiVolume = (driver: string, handle: string) =>
    join(csiVolumes, driver, createHash("sha256").update(handle).digest("hex"));
  return {
    root,
    pods,
    registry: join(root, "plugins_registry"),
    registered: join(root, "plugins_registered"),
    pod,
    localVolume: (uid, plugin, name) => join(pod(uid), "volumes", plugin, name),
    publication,
    publishTarget: (uid, volume, block) =>
      block ? join(blocks, "publish", volume, uid) : join(publication(uid, volume), "mount"),
    csiVolumes,
    csiVolume,
    stageTarget: (driver, handle, volume, block) =>
      block ? join(blocks, "staging", volume) : join(csiVolume(driver, handle), "globalmount"),
  };
}
