import { chmod, mkdir, stat, writeFile } from "node:fs/promises";
import type { Host } from "@mooring/engine";
import { type ObjectStore, type Pod, parseQuantity } from "@mooring/store";
import type { KubeletPaths } from "../paths.ts";
import { configMapEntries, secretEntries } from "../pods/environment.ts";
import { type NodeFacts, readField, readResource } from "../pods/field-ref.ts";
import type { PodVolume } from "./csi-volume.ts";
import { takeOwnership } from "./ownership.ts";
import { type Payload, writePayload } from "./payload.ts";

export interface LocalVolumeContext {
  store: ObjectStore;
  host: Host;
  paths: KubeletPaths;
  node: NodeFacts;
}

/** Makes a volume that needs no driver, and returns where it is. Doing it again refreshes it. */
export async function prepareLocalVolume(
  context: LocalVolumeContext,
  pod: Pod,
  volume: PodVolume,
): Promise<string> {
  if (volume.hostPath !== undefined) return hostPath(volume.hostPath.path, volume.hostPath.type ?? "");
  const uid = pod.metadata.uid ?? "";
  const group = pod.spec?.securityContext?.fsGroup;
  if (volume.emptyDir !== undefined) {
    const path = context.paths.localVolume(uid, "kubernetes.io~empty-dir", volume.name);
    await emptyDir(context.host, path, volume.emptyDir);
    if (group !== undefined) await takeOwnership(path, group, "OnRootMismatch");
    return path;
  }
  const kind = PAYLOAD_KINDS.find((each) => volume[each] !== undefined);
  if (kind === undefined) {
    const type = Object.keys(volume).find((key) => key !== "name") ?? "none";
    throw new Error(
      `volume "${volume.name}" is of type ${type}, which is not supported here; use a persistentVolumeClaim`,
    );
  }
  const path = context.paths.localVolume(uid, `kubernetes.io~${kind.toLowerCase()}`, volume.name);
  await writePayload(path, await payloadOf(context, pod, volume));
  if (group !== undefined) await takeOwnership(path, group);
  return path;
}

const PAYLOAD_KINDS = ["configMap", "secret", "downwardAPI", "projected"] as const;

async function emptyDir(
  host: Host,
  path: string,
  source: { medium?: string; sizeLimit?: string },
): Promise<void> {
  await mkdir(path, { recursive: true });
  if (source.medium === "Memory" && (await host.mounts.at(path)).length === 0) {
    const size = source.sizeLimit === undefined ? [] : [`size=${parseQuantity(source.sizeLimit)}`];
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
  if (type === "DirectoryOrCreate") await mkdir(path, { recursive: true, mode: 0o755 });
  if (type === "FileOrCreate") await writeFile(path, "", { flag: "a", mode: 0o644 });
  const info = await stat(path).catch(() => undefined);
  if (info === undefined) throw new Error(`hostPath ${path} does not exist`);
  const check = HOST_PATH_TYPES[type];
  if (check !== undefined && !info[check]())
    throw new Error(`hostPath type check failed: ${path} is not a ${type}`);
  return path;
}

type Item = { key: string; path: string; mode?: number };
type Source = Pick<PodVolume, "configMap" | "secret" | "downwardAPI">;

async function payloadOf(context: LocalVolumeContext, pod: Pod, volume: PodVolume): Promise<Payload> {
  const payload: Payload = new Map();
  if (volume.projected === undefined) {
    const mode =
      volume.configMap?.defaultMode ?? volume.secret?.defaultMode ?? volume.downwardAPI?.defaultMode;
    await addSource(context, pod, volume, mode ?? 0o644, payload);
    return payload;
  }
  for (const source of volume.projected.sources ?? []) {
    const { configMap, downwardAPI, secret, ...others } = source;
    const unsupported = Object.keys(others)[0];
    if (unsupported !== undefined) throw new Error(`projected source ${unsupported} is not supported here`);
    const named =
      secret === undefined
        ? {}
        : { secret: { ...secret, ...(secret.name === undefined ? {} : { secretName: secret.name }) } };
    const wanted: Source = {
      ...(configMap === undefined ? {} : { configMap }),
      ...(downwardAPI === undefined ? {} : { downwardAPI }),
      ...named,
    };
    await addSource(context, pod, wanted, volume.projected.defaultMode ?? 0o644, payload);
  }
  return payload;
}

async function addSource(
  context: LocalVolumeContext,
  pod: Pod,
  source: Source,
  mode: number,
  payload: Payload,
): Promise<void> {
  const namespace = pod.metadata.namespace ?? "";
  const { configMap, secret, downwardAPI } = source;
  if (configMap !== undefined) {
    const entries = await configMapEntries(
      context.store,
      namespace,
      configMap.name ?? "",
      configMap.optional === true,
    );
    addEntries(entries, configMap.items, configMap.optional === true, mode, payload);
  }
  if (secret !== undefined) {
    const entries = await secretEntries(
      context.store,
      namespace,
      secret.secretName ?? "",
      secret.optional === true,
    );
    addEntries(entries, secret.items, secret.optional === true, mode, payload);
  }
  for (const item of downwardAPI?.items ?? []) {
    const { fieldRef, resourceFieldRef } = item;
    const container = pod.spec?.containers.find(({ name }) => name === resourceFieldRef?.containerName);
    let text = "";
    if (fieldRef !== undefined) text = readField(fieldRef.fieldPath, pod, context.node);
    else if (resourceFieldRef !== undefined && container !== undefined) {
      text = readResource(
        { ...resourceFieldRef, divisor: String(resourceFieldRef.divisor ?? "1") },
        container,
        context.node,
      );
    }
    payload.set(item.path, { data: Buffer.from(text), mode: item.mode ?? mode });
  }
}

/** With items only those, under their paths; without, every entry under its key. */
function addEntries(
  entries: Readonly<Record<string, Buffer>>,
  items: readonly Item[] | undefined,
  optional: boolean,
  mode: number,
  payload: Payload,
): void {
  const wanted: readonly Item[] = items ?? Object.keys(entries).map((key) => ({ key, path: key }));
  for (const item of wanted) {
    const data = entries[item.key];
    if (data !== undefined) payload.set(item.path, { data, mode: item.mode ?? mode });
    else if (!optional) throw new Error(`references non-existent key: ${item.key}`);
  }
}
