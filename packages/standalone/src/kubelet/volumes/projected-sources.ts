import type { ObjectStore, Pod } from "@mooring/store";
import { defined } from "@mooring/store";
import { configMapEntries, secretEntries } from "../pods/environment.ts";
import { type NodeFacts, readField, readResource } from "../pods/field-ref.ts";
import type { PodVolume } from "./csi-volume.ts";
import type { ProjectedFiles } from "./projected-files.ts";
import type { PodTokens } from "./tokens.ts";

/** Where the files of projected volumes come from. */
export interface ProjectedContext {
  store: ObjectStore;
  node: NodeFacts;
  tokens: PodTokens;
}

type Item = { key: string; path: string; mode?: number };
type Source = Pick<PodVolume, "configMap" | "secret" | "downwardAPI">;

/** The files of a volume that is made of API objects, as the objects are now. Throws when something is missing. */
export async function projectedFilesOf(
  context: ProjectedContext,
  pod: Pod,
  volume: PodVolume,
): Promise<ProjectedFiles> {
  const files: ProjectedFiles = new Map();
  if (volume.projected === undefined) {
    const mode =
      volume.configMap?.defaultMode ?? volume.secret?.defaultMode ?? volume.downwardAPI?.defaultMode;
    await addSource(context, pod, { source: volume, mode: mode ?? 0o644 }, files);
    return files;
  }
  for (const source of volume.projected.sources ?? []) {
    const { configMap, downwardAPI, secret, serviceAccountToken, ...others } = source;
    const unsupported = Object.keys(others)[0];
    if (unsupported !== undefined) throw new Error(`projected source ${unsupported} is not supported here`);
    const named =
      secret === undefined ? {} : { secret: { ...secret, ...defined({ secretName: secret.name }) } };
    const wanted: Source = {
      ...defined({ configMap, downwardAPI }),
      ...named,
    };
    const mode = volume.projected.defaultMode ?? 0o644;
    await addSource(context, pod, { source: wanted, mode }, files);
    if (serviceAccountToken !== undefined) {
      const token = await context.tokens.get(pod, serviceAccountToken);
      files.set(serviceAccountToken.path, { data: Buffer.from(token), mode });
    }
  }
  return files;
}

async function addSource(
  context: ProjectedContext,
  pod: Pod,
  { source, mode }: { source: Source; mode: number },
  files: ProjectedFiles,
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
    addEntries(entries, { items: configMap.items, optional: configMap.optional === true }, mode, files);
  }
  if (secret !== undefined) {
    const entries = await secretEntries(
      context.store,
      namespace,
      secret.secretName ?? "",
      secret.optional === true,
    );
    addEntries(entries, { items: secret.items, optional: secret.optional === true }, mode, files);
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
    files.set(item.path, { data: Buffer.from(text), mode: item.mode ?? mode });
  }
}

/** With items only those, under their paths; without, every entry under its key. */
function addEntries(
  entries: Readonly<Record<string, Buffer>>,
  { items, optional }: { items: readonly Item[] | undefined; optional: boolean },
  mode: number,
  files: ProjectedFiles,
): void {
  const wanted: readonly Item[] = items ?? Object.keys(entries).map((key) => ({ key, path: key }));
  for (const item of wanted) {
    const data = Object.hasOwn(entries, item.key) ? entries[item.key] : undefined;
    if (data !== undefined) files.set(item.path, { data, mode: item.mode ?? mode });
    else if (!optional) throw new Error(`references non-existent key: ${item.key}`);
  }
}
