import { chmod, mkdir, stat, writeFile } from "node:fs/promises";
import type { Host } from "@mooring/engine";
import { makeFolder, type Pod, parseQuantity } from "@mooring/store";
import type { KubeletPaths } from "../paths.ts";
import type { PodVolume } from "./csi-volume.ts";
import { takeOwnership } from "./ownership.ts";
import { fingerprintOf, writeProjectedFiles } from "./projected-files.ts";
import { type ProjectedContext, projectedFilesOf } from "./projected-sources.ts";

/** What volumes are made with that no driver is needed for. */
export interface LocalVolumeContext extends ProjectedContext {
  host: Host;
  paths: KubeletPaths;
}

/** A volume that needs no driver, as it was made. */
export interface LocalVolume {
  path: string;
  /** Of a volume that is made of API objects: what was in them. */
  fingerprint?: string;
}

/**
 * Makes a volume that needs no driver. Doing it again (`before`: what it was) brings one that is made of API objects up
 * to date, and costs next to nothing when they have not changed.
 */
export async function prepareLocalVolume(
  context: LocalVolumeContext,
  pod: Pod,
  volume: PodVolume,
  before?: LocalVolume,
): Promise<LocalVolume> {
  const kind = PROJECTED_KINDS.find((each) => volume[each] !== undefined);
  if (kind === undefined) return before ?? { path: await prepareFolder(context, pod, volume) };
  const uid = pod.metadata.uid ?? "";
  const path = context.paths.localVolume(uid, `kubernetes.io~${kind.toLowerCase()}`, volume.name);
  const files = await projectedFilesOf(context, pod, volume);
  const fingerprint = await fingerprintOf(files);
  if (before?.fingerprint === fingerprint) return before;
  const group = pod.spec?.securityContext?.fsGroup;
  await writeProjectedFiles(path, files, async (made) => {
    if (group !== undefined) await takeOwnership(made, group);
  });
  return { path, fingerprint };
}

async function prepareFolder(context: LocalVolumeContext, pod: Pod, volume: PodVolume): Promise<string> {
  if (volume.hostPath !== undefined) return hostPath(volume.hostPath.path, volume.hostPath.type ?? "");
  const uid = pod.metadata.uid ?? "";
  const group = pod.spec?.securityContext?.fsGroup;
  if (volume.emptyDir !== undefined) {
    const path = context.paths.localVolume(uid, "kubernetes.io~empty-dir", volume.name);
    await emptyDir(context.host, path, memoryOf(pod, volume.emptyDir), volume.emptyDir.medium);
    if (group !== undefined) await takeOwnership(path, group, "OnRootMismatch");
    return path;
  }
  const type = Object.keys(volume).find((key) => key !== "name") ?? "none";
  throw new Error(
    `volume "${volume.name}" is of type ${type}, which is not supported here; use a persistentVolumeClaim`,
  );
}

/** As in Kubernetes, the least of its own limit (0 is none) and what the pod's containers may have of the memory together. */
function memoryOf(pod: Pod, { sizeLimit }: { sizeLimit?: string }): bigint | undefined {
  const bounds = [parseQuantity(sizeLimit || "0"), memoryLimitOf(pod) ?? 0n].filter((bytes) => bytes > 0n);
  return bounds.length === 0 ? undefined : bounds.reduce((least, bytes) => (bytes < least ? bytes : least));
}

/** Of all containers, those that run one after another as if at once; undefined when one has no limit. */
function memoryLimitOf({ spec }: Pod): bigint | undefined {
  const all = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])];
  const limits = all.map(({ resources }) => parseQuantity(String(resources?.limits?.["memory"] ?? 0)));
  return limits.every((bytes) => bytes > 0n) ? limits.reduce((sum, bytes) => sum + bytes, 0n) : undefined;
}

const PROJECTED_KINDS = ["configMap", "secret", "downwardAPI", "projected"] as const;

async function emptyDir(host: Host, path: string, bytes?: bigint, medium?: string): Promise<void> {
  await mkdir(path, { recursive: true });
  if (medium === "Memory" && (await host.mounts.at(path)).length === 0) {
    const size = bytes === undefined ? [] : [`size=${bytes}`];
    await host.mounts.mount({
      source: "tmpfs",
      target: path,
      fsType: "tmpfs",
      options: ["mode=1777", ...size],
    });
  }
  if (((await stat(path)).mode & 0o777) !== 0o777) await chmod(path, 0o777);
}

type Kind = "isDirectory" | "isFile" | "isSocket" | "isCharacterDevice" | "isBlockDevice";

const HOST_PATH_TYPES: Readonly<Record<string, Kind>> = {
  Directory: "isDirectory",
  DirectoryOrCreate: "isDirectory",
  File: "isFile",
  FileOrCreate: "isFile",
  Socket: "isSocket",
  CharDevice: "isCharacterDevice",
  BlockDevice: "isBlockDevice",
};

async function hostPath(path: string, type: string): Promise<string> {
  if (type === "DirectoryOrCreate") await makeFolder(path, 0o755);
  if (type === "FileOrCreate") await writeFile(path, "", { flag: "a", mode: 0o644 });
  const info = await stat(path).catch(() => undefined);
  if (info === undefined) throw new Error(`hostPath ${path} does not exist`);
  const check = HOST_PATH_TYPES[type];
  if (check === undefined && type !== "") throw new Error(`hostPath type ${type} is unknown`);
  if (check !== undefined && !info[check]())
    throw new Error(`hostPath type check failed: ${path} is not a ${type}`);
  return path;
}
