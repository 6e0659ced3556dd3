import { readdir, readFile, rmdir, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeFolder, naming, replaceFile, unlessReadOnly } from "@mooring/store";
import type { KubeletPaths } from "../paths.ts";

/**
 * What is needed to take a volume away again when nothing else has it on record. Written before the driver is asked to
 * stage or publish, removed after it has undone that: a record means "may be there".
 */
export interface VolumeRecord {
  driverName: string;
  volumeHandle: string;
  /** Name of the PersistentVolume; in the pod where it has none. */
  specVolID: string;
  volumeMode: "Filesystem" | "Block";
  /** As upstream's kubelet has it. `Ephemeral`: made for one pod; absent in older records. */
  volumeLifecycleMode?: "Persistent" | "Ephemeral";
}

const FILE = "vol_data.json";

interface FoundPublication extends VolumeRecord {
  podUID: string;
}

/** Throws an error that says so where the disk is full: mkdir with `recursive` reports ENOENT then. */
export async function makeVolumeFolder(folder: string): Promise<void> {
  await naming(folder, () => makeFolder(folder, 0o750));
}

/** Writes `vol_data.json` as upstream's kubelet does; whole or not at all. */
export async function writeVolumeRecord(folder: string, record: VolumeRecord): Promise<void> {
  await makeVolumeFolder(folder);
  await replaceFile(join(folder, FILE), `${JSON.stringify(record)}\n`, 0o644);
}

/** Removes the record and its folder. Whatever else is in there stays and is an error: it could be data. A read-only disk keeps all. */
export async function removeVolumeRecord(folder: string): Promise<void> {
  for (const name of [FILE, `${FILE}.new`]) await unlink(join(folder, name)).catch(ignoreMissing);
  await rmdir(folder).catch(ignoreMissing);
  // The folder above groups the volumes of a driver or of a pod; the last one takes it along.
  await rmdir(dirname(folder)).catch(() => {});
}

/** What is recorded of volumes that are staged here. */
export async function readVolumeRecords(paths: KubeletPaths): Promise<VolumeRecord[]> {
  const drivers = (await list(paths.csiVolumes)).filter((name) => name !== "volumeDevices");
  const folders = await Promise.all(
    drivers.map(async (driver) =>
      (await list(join(paths.csiVolumes, driver))).map((name) => join(paths.csiVolumes, driver, name)),
    ),
  );
  return readAll(folders.flat());
}

/** What is recorded of volumes that are published here. */
export async function readPublications(paths: KubeletPaths): Promise<FoundPublication[]> {
  const found: FoundPublication[] = [];
  for (const podUID of await list(paths.pods)) {
    const folder = join(paths.pod(podUID), "volumes/kubernetes.io~csi");
    const records = await readAll((await list(folder)).map((name) => join(folder, name)));
    found.push(...records.map((record) => ({ ...record, podUID })));
  }
  return found;
}

async function readAll(folders: readonly string[]): Promise<VolumeRecord[]> {
  const records = await Promise.all(
    folders.map(async (folder): Promise<VolumeRecord | undefined> => {
      const text = await readFile(join(folder, FILE), "utf8").catch(() => undefined);
      if (text !== undefined) return JSON.parse(text);
      // Killed between mkdir and the record: the driver was not asked yet.
      await removeVolumeRecord(folder).catch(() => {});
      return undefined;
    }),
  );
  return records.filter((record) => record !== undefined);
}

async function list(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") unlessReadOnly(error);
}
