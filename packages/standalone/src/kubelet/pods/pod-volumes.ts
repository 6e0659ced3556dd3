import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { type Host, removeTree } from "@mooring/engine";
import type { EventRecorder, Pod } from "@mooring/store";
import type { ClusterView } from "../../controllers/cluster-view.ts";
import type { KubeletPaths } from "../paths.ts";
import type { ClaimCaches, CsiVolume } from "../volumes/csi-volume.ts";
import type { VolumeManager } from "../volumes/index.ts";
import { type LocalVolume, type LocalVolumeContext, prepareLocalVolume } from "../volumes/local.ts";
import { bindSubPath, removeSubPaths } from "../volumes/subpath.ts";
import { traceVolume } from "../volumes/trace-volume.ts";
import type { SubPathPlace } from "./container-config.ts";
import { rolesOf } from "./pod-view.ts";

/** All volumes of the pods of this node, whatever they are made of. */
export interface PodVolumes {
  /** What the pod's volumes are made from, as one text, but for what is in objects that they read. */
  origin(pod: Pod, caches: ClaimCaches): string;
  /** Does what is to be done for the pod's volumes now, and has the others published. */
  mount(pod: Pod, origin: string): Promise<void>;
  /** They were mounted as they are made now. */
  isMounted(podUID: string, origin: string): boolean;
  /** All of them are there. */
  isReady(pod: Pod, caches: ClaimCaches): boolean;
  /** Where they are, once they are there. */
  sources(pod: Pod): Map<string, { path: string; readOnly: boolean }>;
  /** Binds a path below a volume for one mount of a container; resolves with where it is. */
  subPath(pod: Pod, place: SubPathPlace): Promise<string>;
  release(podUID: string): Promise<void>;
  isUsing(podUID: string): boolean;
  /** One of them is still to be attached, or staged. */
  isStaging(podUID: string): boolean;
  /** They were released, and the volume manager is still at it. */
  isReleasing(podUID: string): boolean;
  hasFolder(podUID: string): Promise<boolean>;
  /** Removes what is left of a pod that has released its volumes. */
  removeFolder(podUID: string): Promise<void>;
}

interface PodVolumesOptions extends LocalVolumeContext {
  view: ClusterView;
  host: Host;
  paths: KubeletPaths;
  manager: VolumeManager;
  events: EventRecorder;
}

/** The volumes of this node's pods; nothing is mounted yet. */
export function createPodVolumes(options: PodVolumesOptions): PodVolumes {
  return new NodePodVolumes(options);
}

class NodePodVolumes implements PodVolumes {
  readonly #options: PodVolumesOptions;
  /** By pod uid and the volume's name. */
  readonly #prepared = new Map<string, Map<string, LocalVolume>>();
  /** By pod uid, from what its volumes were made. */
  readonly #mounted = new Map<string, string>();

  constructor(options: PodVolumesOptions) {
    this.#options = options;
  }

  origin(pod: Pod, caches: ClaimCaches): string {
    const { labels, annotations } = pod.metadata;
    return JSON.stringify([trace(caches, pod), labels, annotations]);
  }

  isMounted(podUID: string, origin: string): boolean {
    return this.#mounted.get(podUID) === origin;
  }

  async mount(pod: Pod, origin: string): Promise<void> {
    const { events, manager, view } = this.#options;
    const { volumes, problems } = trace(view, pod);
    for (const problem of problems) {
      events.event(pod, "Warning", "FailedMount", `Unable to attach or mount volumes: ${problem}`);
    }
    manager.want(pod, volumes);
    await this.#prepareLocal(pod);
    this.#mounted.set(pod.metadata.uid ?? "", origin);
  }

  isReady(pod: Pod, caches: ClaimCaches): boolean {
    const { volumes, problems } = trace(caches, pod);
    return problems.length === 0 && this.#options.manager.isReady(pod.metadata.uid ?? "", volumes);
  }

  sources(pod: Pod): Map<string, { path: string; readOnly: boolean }> {
    const { manager, view } = this.#options;
    const uid = pod.metadata.uid ?? "";
    const csi = trace(view, pod).volumes.map(
      (volume) => [volume.name, { path: manager.pathOf(uid, volume), readOnly: volume.readOnly }] as const,
    );
    const local = [...(this.#prepared.get(uid) ?? [])].map(
      ([name, { path }]) => [name, { path, readOnly: isProjected(pod, name) }] as const,
    );
    return new Map([...csi, ...local]);
  }

  async subPath(pod: Pod, { container, index, path, volume }: SubPathPlace): Promise<string> {
    const target = join(this.#subPaths(pod.metadata.uid ?? ""), container, String(index));
    if (await bindSubPath(this.#options.host, volume, path, target)) {
      const name = namesOf(pod, container)[index];
      this.#options.events.event(
        pod,
        "Warning",
        "SubPathRemoved",
        `subPath "${path}" of volume "${name}" was removed after container ${container} had started with it: an empty folder was made in its place; other containers of this pod with that subPath keep the removed one until they start again: delete the pod to have all of them start with the new one`,
      );
    }
    return target;
  }

  async release(podUID: string): Promise<void> {
    this.#forget(podUID);
    this.#options.tokens.forget(podUID);
    // They are mounts of the volumes themselves, which would stay busy.
    await removeSubPaths(this.#options.host, this.#subPaths(podUID));
    this.#options.manager.release(podUID);
  }

  isUsing(podUID: string): boolean {
    return this.#options.manager.isUsing(podUID);
  }

  isStaging(podUID: string): boolean {
    return this.#options.manager.isStaging(podUID);
  }

  isReleasing(podUID: string): boolean {
    return this.#options.manager.isReleasing(podUID);
  }

  hasFolder(podUID: string): Promise<boolean> {
    return lstat(this.#options.paths.pod(podUID)).then(
      () => true,
      () => false,
    );
  }

  async removeFolder(podUID: string): Promise<void> {
    const { host, paths } = this.#options;
    this.#forget(podUID);
    const folder = paths.pod(podUID);
    await removeSubPaths(host, this.#subPaths(podUID));
    for (const { target, fsType } of await host.mounts.list()) {
      if (!target.startsWith(`${folder}/`)) continue;
      // Memory of an emptyDir. Anything else may be a user's data.
      if (fsType !== "tmpfs") throw new Error(`${target} is still mounted`);
      await host.mounts.unmount(target);
    }
    await removeTree(host, folder);
  }

  async #prepareLocal(pod: Pod): Promise<void> {
    const uid = pod.metadata.uid ?? "";
    const done = this.#prepared.get(uid) ?? new Map<string, LocalVolume>();
    this.#prepared.set(uid, done);
    for (const volume of pod.spec?.volumes ?? []) {
      const { csi, ephemeral, persistentVolumeClaim } = volume;
      if ((csi ?? ephemeral ?? persistentVolumeClaim) !== undefined) continue;
      const before = done.get(volume.name);
      try {
        done.set(volume.name, await prepareLocalVolume(this.#options, pod, volume, before));
      } catch (error) {
        const text = error instanceof Error ? error.message : String(error);
        const message = `MountVolume.SetUp failed for volume "${volume.name}" : ${text}`;
        this.#options.events.event(pod, "Warning", "FailedMount", message);
        // What was there once stays as it was: a running container does not lose its files.
        if (before === undefined) throw error;
      }
    }
  }

  #forget(podUID: string): void {
    this.#prepared.delete(podUID);
    this.#mounted.delete(podUID);
  }

  #subPaths(podUID: string): string {
    return join(this.#options.paths.pod(podUID), "volume-subpaths");
  }
}

/** What the pod's CSI volumes are, and what is wrong with the others that go through claims. */
function trace(caches: ClaimCaches, pod: Pod): { volumes: CsiVolume[]; problems: string[] } {
  const traced = (pod.spec?.volumes ?? []).map((volume) => traceVolume(caches, pod, volume));
  const volumes = traced.filter((each) => each !== undefined && !("problem" in each)) as CsiVolume[];
  const problems = traced.flatMap((each) => (each !== undefined && "problem" in each ? [each.problem] : []));
  return { volumes, problems };
}

/** Of the volumes that a container mounts, in its order. */
function namesOf(pod: Pod, container: string): string[] {
  const spec = rolesOf(pod).find((role) => role.spec.name === container)?.spec;
  return (spec?.volumeMounts ?? []).map(({ name }) => name);
}

/** ConfigMaps, Secrets and the like are for reading. */
function isProjected(pod: Pod, name: string): boolean {
  const volume = (pod.spec?.volumes ?? []).find((each) => each.name === name);
  return volume !== undefined && volume.emptyDir === undefined && volume.hostPath === undefined;
}
