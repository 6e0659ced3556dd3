import { defined, nextSlice, type ObjectStore, type Pod, sliceLasts } from "@mooring/store";
import { type NodeFacts, PodFields, readResource } from "../pods/field-ref.ts";
import { ObjectEntries } from "../pods/object-entries.ts";
import type { PodVolume } from "./csi-volume.ts";
import type { ProjectedFiles } from "./projected-files.ts";
import type { PodTokens } from "./tokens.ts";

/** Where the files of projected volumes come from. */
export interface ProjectedContext {
  store: ObjectStore;
  node: NodeFacts;
  tokens: PodTokens;
}

/**
 * The agent has all files of a volume in its memory at once, and whoever makes a pod decides how many there are. An object of the API
 * has a megabyte.
 */
const MOST_BYTES = 32 * 1024 * 1024;

type Item = { key: string; path: string; mode?: number };
type Source = Pick<PodVolume, "configMap" | "secret" | "downwardAPI">;

/** What the sources of one volume have in common. */
interface Projection {
  context: ProjectedContext;
  pod: Pod;
  objects: ObjectEntries;
  fields: PodFields;
  files: Files;
}

/** The files of a volume that is made of API objects, as the objects are now. Throws when something is missing, or too large. */
export async function projectedFilesOf(
  context: ProjectedContext,
  pod: Pod,
  volume: PodVolume,
): Promise<ProjectedFiles> {
  const files = new Files(volume.name);
  const objects = new ObjectEntries(context.store, pod.metadata.namespace ?? "");
  const projection = { context, pod, objects, fields: new PodFields(pod, context.node), files };
  if (volume.projected === undefined) {
    const mode =
      volume.configMap?.defaultMode ?? volume.secret?.defaultMode ?? volume.downwardAPI?.defaultMode;
    await addSource(projection, volume, mode ?? 0o644);
    return files.all;
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
    await addSource(projection, wanted, mode);
    if (serviceAccountToken !== undefined) {
      const token = await context.tokens.get(pod, serviceAccountToken);
      files.set(serviceAccountToken.path, Buffer.from(token), mode);
    }
  }
  return files.all;
}

/** No more of them than the agent can have: a later one takes the place of one with the same path. */
class Files {
  readonly all: ProjectedFiles = new Map();
  readonly #volume: string;
  #bytes = 0;

  constructor(volume: string) {
    this.#volume = volume;
  }

  set(path: string, data: Buffer, mode: number): void {
    this.#bytes += data.length - (this.all.get(path)?.data.length ?? 0);
    if (this.#bytes > MOST_BYTES)
      throw new Error(
        `volume "${this.#volume}": its files have more than ${MOST_BYTES} bytes together; put what is large into a persistentVolumeClaim`,
      );
    this.all.set(path, { data, mode });
  }
}

async function addSource(projection: Projection, source: Source, mode: number): Promise<void> {
  const { context, pod, objects, fields, files } = projection;
  const { configMap, secret, downwardAPI } = source;
  if (configMap !== undefined) {
    const { items, name = "", optional = false } = configMap;
    addEntries(await objects.configMap(name, optional), { items, optional }, mode, files);
  }
  if (secret !== undefined) {
    const { items, secretName = "", optional = false } = secret;
    addEntries(await objects.secret(secretName, optional), { items, optional }, mode, files);
  }
  for (const item of downwardAPI?.items ?? []) {
    if (!sliceLasts()) await nextSlice();
    const { fieldRef, resourceFieldRef } = item;
    let text = "";
    if (fieldRef !== undefined) text = fields.read(fieldRef.fieldPath);
    else if (resourceFieldRef !== undefined) text = readResource(resourceFieldRef, { pod }, context.node);
    files.set(item.path, Buffer.from(text), item.mode ?? mode);
  }
}

/** With items only those, under their paths; without, every entry under its key. */
function addEntries(
  entries: Readonly<Record<string, Buffer>>,
  { items, optional }: { items: readonly Item[] | undefined; optional: boolean },
  mode: number,
  files: Files,
): void {
  const wanted: readonly Item[] = items ?? Object.keys(entries).map((key) => ({ key, path: key }));
  for (const item of wanted) {
    const data = Object.hasOwn(entries, item.key) ? entries[item.key] : undefined;
    if (data !== undefined) files.set(item.path, data, item.mode ?? mode);
    else if (!optional) throw new Error(`references non-existent key: ${item.key}`);
  }
}
